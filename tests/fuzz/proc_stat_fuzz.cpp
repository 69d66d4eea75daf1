// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "backends/linux/procfs.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;
using hal::linux_host::parse_pid;
using hal::linux_host::parse_proc_stat;

namespace {

/// A stat line whose name is the input: whatever it holds, no other field may change.
void check_forged_name(std::string_view name) {
  const std::string line =
      "4711 (" + std::string(name) + ") T 17 23 29 0 -1 64 0 0 0 0 0 0 0 0 20 0 31 0 1234567 0 0";
  const auto stat = parse_proc_stat(line);
  require(stat.has_value(), "any name is accepted");
  require(stat->pid == 4711 && stat->state == 'T' && stat->parent == 17 && stat->group == 23,
          "a name forges no identity");
  require(stat->session == 29 && stat->flags == 64 && stat->thread_count == 31 &&
              stat->start_ticks == 1234567,
          "a name forges no other field");
  require(stat->name() == name.substr(0, stat->name_bytes.size()), "the name is the name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto text = hal::fuzz::text(data, size);
  if (const auto stat = parse_proc_stat(text)) {
    require(stat->pid > 0, "a process has a number");
    require(stat->name().size() <= stat->name_bytes.size(), "a name keeps its limit");
    require(text.find(stat->name()) != text.npos, "the name is part of the text");
  }
  const auto pid = parse_pid(text);
  require(pid >= 0, "a number is never negative");
  require(pid == 0 || std::to_string(pid) == text, "a number has one spelling");
  check_forged_name(text);
  return 0;
}
