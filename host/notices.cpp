// SPDX-License-Identifier: BSD-3-Clause
#include "host/notices.h"

namespace hal::host {

void Notices::add(const std::string& node, std::uint32_t rank, std::string_view text) {
  waiting_[{node, std::string(text)}].insert(rank);
  explained_.insert(rank);
}

void Notices::flush(const std::function<void(const std::string&)>& say) {
  for (const auto& [key, ranks] : waiting_) {
    say(key.first + ": task" + (ranks.size() > 1 ? "s " : " ") + ranks_as_text(ranks) + ": " +
        key.second);
  }
  waiting_.clear();
}

std::string ranks_as_text(const std::set<std::uint32_t>& ranks) {
  std::string text;
  for (auto first = ranks.begin(); first != ranks.end();) {
    auto last = first;
    auto next = std::next(first);
    while (next != ranks.end() && *next == *last + 1) last = next++;
    if (!text.empty()) text += ',';
    text += std::to_string(*first);
    if (last != first) text += "-" + std::to_string(*last);
    first = next;
  }
  return text;
}

}  // namespace hal::host
