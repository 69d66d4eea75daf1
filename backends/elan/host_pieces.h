// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>

#include "backends/elan/elan_hosts.h"

namespace hal::elan {

/// Digits of a name that are read as its number; more stay in the prefix.
inline constexpr unsigned kMaxNumberDigits = 18;

[[nodiscard]] constexpr bool is_decimal(char c) noexcept { return c >= '0' && c <= '9'; }

[[nodiscard]] constexpr std::uint64_t power_of_ten(unsigned exponent) noexcept {
  std::uint64_t power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

/// The family of a number's text: 1 when it has no needless zeros, else its number of digits.
[[nodiscard]] constexpr unsigned family_of(bool leading_zero, unsigned digits) noexcept {
  return leading_zero && digits > 1 ? digits : 1;
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
  const unsigned digits = family_of(name[start] == '0', static_cast<unsigned>(end - start));
  return {name.substr(0, start), name.substr(end), digits, value, 1};
}

/// Cuts a range of names into pieces of one family, in order, and calls `use(piece)` until it
/// answers false. Usually that is one piece; names that vary in other digits than their last ones
/// come one by one. @return false if `use` did.
template <class Use>
bool for_each_piece(const NodeList::Range& range, Use&& use) {
  if (!range.numbered) return use(piece_of(range.prefix));
  const bool varies_last = std::ranges::none_of(range.suffix, is_decimal) &&
                           (range.prefix.empty() || !is_decimal(range.prefix.back()));
  constexpr std::uint64_t kLimit = power_of_ten(kMaxNumberDigits);
  if (varies_last && range.width <= kMaxNumberDigits && range.last < kLimit) {
    // Up to 10^(width-1) the padding shows.
    const std::uint64_t padded_end = range.width > 1 ? power_of_ten(range.width - 1) : 0;
    std::uint64_t first = range.first;
    if (first < padded_end) {
      const std::uint64_t last = std::min(range.last, padded_end - 1);
      if (!use(
              ElanHosts::Piece{range.prefix, range.suffix, range.width, first, last - first + 1})) {
        return false;
      }
      if (last == range.last) return true;
      first = padded_end;
    }
    return use(ElanHosts::Piece{range.prefix, range.suffix, 1, first, range.last - first + 1});
  }
  for (std::uint64_t value = range.first;; ++value) {
    std::string number = std::to_string(value);
    if (number.size() < range.width) number.insert(0, range.width - number.size(), '0');
    const std::string name = std::string(range.prefix) + number + std::string(range.suffix);
    if (!use(piece_of(name))) return false;
    if (value == range.last) return true;
  }
}

}  // namespace hal::elan
