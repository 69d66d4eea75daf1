// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>

#include "backends/elan/elan_hosts.h"

namespace hal::elan {

/// Digits of a name that are read as its number; more stay in the prefix.
inline constexpr unsigned kMaxNumberDigits = 18;

[[nodiscard]] constexpr bool is_decimal(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] inline std::uint64_t power_of_ten(unsigned exponent) noexcept {
  std::uint64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

/// The one form of a name: its last run of digits, at most kMaxNumberDigits of them, is the number.
/// Every expression that produces the name leads to the same form.
[[nodiscard]] inline ElanHosts::Piece piece_of(std::string_view name) noexcept {
  std::size_t end = name.size();
  while (end > 0 && !is_decimal(name[end - 1])) --end;
  std::size_t start = end;
  std::uint64_t value = 0;
  std::uint64_t weight = 1;
  while (start > 0 && is_decimal(name[start - 1]) && end - start < kMaxNumberDigits) {
    value += weight * static_cast<std::uint64_t>(name[--start] - '0');
    weight *= 10;
  }
  if (start == end) return {name, {}, 0, 0, 1};
  return {name.substr(0, start), name.substr(end), static_cast<unsigned>(end - start), value, 1};
}

/// Cuts a range of names into pieces whose names all have the same number of digits, in order, and
/// calls `use(piece)` until it answers false. Names that vary in other digits than their last ones
/// come one by one. @return false if `use` did.
template <class Use>
bool for_each_piece(const NodeList::Range& range, Use&& use) {
  if (!range.numbered) return use(piece_of(range.prefix));
  const bool varies_last = std::ranges::none_of(range.suffix, is_decimal);
  for (std::uint64_t value = range.first;;) {
    unsigned digits = 1;
    for (std::uint64_t rest = value; rest >= 10; rest /= 10) ++digits;
    digits = std::max(range.width, digits);
    std::uint64_t last = value;
    bool more = true;
    if (varies_last && digits <= kMaxNumberDigits) {
      last = std::min(range.last, power_of_ten(digits) - 1);
      // Digits before the bracket belong to the number: "n1[0-9]" names what "n[10-19]" does.
      std::string_view prefix = range.prefix;
      unsigned all_digits = digits;
      std::uint64_t first = value;
      for (std::uint64_t weight = power_of_ten(digits);
           !prefix.empty() && is_decimal(prefix.back()) && all_digits < kMaxNumberDigits;
           ++all_digits, weight *= 10) {
        first += weight * static_cast<std::uint64_t>(prefix.back() - '0');
        prefix.remove_suffix(1);
      }
      more = use(ElanHosts::Piece{prefix, range.suffix, all_digits, first, last - value + 1});
    } else {
      std::string number = std::to_string(value);
      if (number.size() < range.width) number.insert(0, range.width - number.size(), '0');
      const std::string name = std::string(range.prefix) + number + std::string(range.suffix);
      more = use(piece_of(name));
    }
    if (!more) return false;
    if (last == range.last) return true;
    value = last + 1;
  }
}

}  // namespace hal::elan
