// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace hal::host {

/// Collects what many tasks have to say, so that a thousand equal messages become one line.
class Notices {
 public:
  void add(const std::string& node, std::uint32_t rank, std::string_view text);

  /// True if the task has already said why it failed.
  [[nodiscard]] bool explained(std::uint32_t rank) const { return explained_.contains(rank); }

  [[nodiscard]] bool empty() const noexcept { return waiting_.empty(); }

  /// "<node>: tasks 0-3: <text>" for each node and text.
  void flush(const std::function<void(const std::string&)>& say);

 private:
  std::map<std::pair<std::string, std::string>, std::set<std::uint32_t>> waiting_;
  std::set<std::uint32_t> explained_;
};

/// "0-3,7".
[[nodiscard]] std::string ranks_as_text(const std::set<std::uint32_t>& ranks);

}  // namespace hal::host
