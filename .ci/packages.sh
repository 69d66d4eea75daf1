# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034
# Sourced by quickstart and check: makes sure that Debian packages are there.

build_packages="g++ cmake ninja-build pkgconf libexpected-dev libfmt-dev libcli11-dev
  nlohmann-json3-dev libsmartcols-dev"
check_packages="$build_packages clang clang-format libclang-rt-14-dev libgtest-dev libgmock-dev
  librapidcheck-dev"
bench_packages="$build_packages libbenchmark-dev libslurm-dev hyperfine"

# need_packages NAME...: installs what is missing when root, names it and fails otherwise.
need_packages() {
  local missing=() name
  for name in "$@"; do
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  if [ "$(id -u)" -ne 0 ]; then
    printf 'These Debian packages are missing; as root run:\n  apt-get install --no-install-recommends %s\n' \
      "${missing[*]}" >&2
    return 1
  fi
  echo "Installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  apt-get -qq update && apt-get -qq -y install --no-install-recommends "${missing[@]}" >/dev/null
}
