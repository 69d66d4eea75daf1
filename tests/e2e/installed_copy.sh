#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# installed_copy.sh PREFIX: an installed copy runs the main job by itself, and a program outside the
# tree builds against it through CMake and through pkg-config.
set -euo pipefail
prefix=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_STATE_HOME=$work/state

command=$prefix/bin/backplane
"$command" plugins
# shellcheck disable=SC2016
"$command" run -N 2 -n 4 --state-dir "$work/run" --switch elan -l -- \
  sh -c 'echo rank $RMS_RANK of $RMS_NPROCS on node $RMS_NODEID' | sort >"$work/out"
for rank in 0 1 2 3; do
  echo "$rank: rank $rank of 4 on node $((rank / 2))"
done | diff - "$work/out"

mkdir "$work/consumer"
cat >"$work/consumer/main.cpp" <<'CPP'
#include "hal/node_list.h"
int main() { return hal::NodeList::parse("n[1-3]-ib[0-1]")->size() == 6 ? 0 : 1; }
CPP
cat >"$work/consumer/CMakeLists.txt" <<'CMAKE'
cmake_minimum_required(VERSION 3.25)
project(consumer LANGUAGES CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(Backplane 0.1 REQUIRED)
add_executable(consumer main.cpp)
target_link_libraries(consumer PRIVATE hal::core)
CMAKE
cmake -S "$work/consumer" -B "$work/consumer/build" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" >/dev/null
cmake --build "$work/consumer/build" >/dev/null
"$work/consumer/build/consumer"

pc_dir=$(dirname "$(find "$prefix" -name backplane.pc)")
# shellcheck disable=SC2046
PKG_CONFIG_PATH=$pc_dir g++ -o "$work/by_pkgconfig" "$work/consumer/main.cpp" \
  $(PKG_CONFIG_PATH=$pc_dir pkg-config --cflags --libs backplane)
"$work/by_pkgconfig"
echo "installed copy: main job, CMake package and pkg-config work"
