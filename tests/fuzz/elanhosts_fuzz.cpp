// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/elan_hosts.h"
#include "tests/fuzz/fuzz_target.h"

using hal::elan::ElanHosts;
using hal::elan::HostType;
using hal::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto hosts = ElanHosts::parse(text, "elanhosts");
  if (!hosts) {
    require(hosts.error().detail.starts_with("elanhosts:"), "errors name the line");
    return 0;
  }
  require(hosts->max_id() >= -1 && hosts->max_id() <= 16383, "ids are bounded");
  int checked = 0;
  for (int id = 0; id <= hosts->max_id() && checked < 64; ++id) {
    for (const HostType type : {HostType::eip, HostType::eth, HostType::other}) {
      const auto name = hosts->host_of(type, static_cast<std::uint32_t>(id));
      if (!name) continue;
      ++checked;
      const auto found = hosts->id_of(*name);
      require(found.has_value(), "every name of the map has an id");

      // A list of that one name must lead to the same id as the name.
      const auto list = hal::NodeList::parse(*name);
      std::vector<hal::elan::NodeRun> runs;
      if (!list || list->size() != 1) continue;
      require(hosts->resolve(*list, runs) && runs.size() == 1 && runs[0].first == *found,
              "lists and names agree");
    }
  }
  return 0;
}
