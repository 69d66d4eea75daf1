// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "hal/node_list.h"
#include "tests/fuzz/fuzz_target.h"

using hal::NodeList;
using hal::fuzz::require;

namespace {

constexpr NodeList::Limits kLimits{.max_text = 1 << 16, .max_nodes = 4096, .max_name = 64};

void check_list(const NodeList& list) {
  const auto names = list.expand();
  require(!names.empty() && names.size() == list.size(), "expand gives size() names");
  require(names.size() <= kLimits.max_nodes, "no more names than the limit");
  for (std::size_t i = 0; i < names.size(); i += 1 + names.size() / 64) {
    require(!names[i].empty() && names[i].size() <= kLimits.max_name, "a name keeps its limit");
    require(list.at(i) == names[i], "at agrees with expand");
    const auto first = std::ranges::find(names, names[i]) - names.begin();
    require(list.index_of(names[i]) == static_cast<std::size_t>(first),
            "index_of finds the first of that name");
  }
  // Multiplied out or not merged, the text may be longer than it was, but not than usual.
  const auto again = NodeList::parse(list.ranged());
  require(again.has_value(), "the ranged form parses");
  require(again->expand() == names, "the ranged form gives the same names");
  const NodeList merged = NodeList::from_names(names);
  require(merged.expand() == names, "from_names keeps the names");
  const auto reparsed = NodeList::parse(merged.ranged());
  require(reparsed && reparsed->expand() == names,
          "the ranged form of merged names gives the same names");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto list = NodeList::parse(hal::fuzz::text(data, size), kLimits);
  if (list) {
    check_list(*list);
  } else {
    require(list.error().code != 0 && !list.error().detail.empty(), "an error says why");
  }
  return 0;
}
