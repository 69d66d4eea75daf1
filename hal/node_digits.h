// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

/// Decimal numbers in node names, as text that is edited in place. Internal to node_list*.cpp.
namespace hal::node_digits {

/// Digits that always fit a std::uint64_t.
inline constexpr std::size_t kMaxDigits = 19;

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Value of 1 to kMaxDigits digits.
[[nodiscard]] constexpr std::uint64_t value_of(std::string_view digits) noexcept {
  std::uint64_t value = 0;
  for (const char c : digits) value = value * 10 + static_cast<std::uint64_t>(c - '0');
  return value;
}

/// The padding that digits ask for: their number when they begin with a zero, else 1.
[[nodiscard]] constexpr unsigned width_of(std::string_view digits) noexcept {
  return digits.size() > 1 && digits.front() == '0' ? static_cast<unsigned>(digits.size()) : 1;
}

[[nodiscard]] constexpr unsigned count_digits(std::uint64_t number) noexcept {
  unsigned digits = 1;
  for (; number >= 10; number /= 10) ++digits;
  return digits;
}

/// Where a run of digits is in a name; size 0 when there is none that fits a number.
struct DigitRun {
  std::size_t start = 0;
  std::size_t size = 0;
};

[[nodiscard]] constexpr DigitRun last_run(std::string_view name) noexcept {
  std::size_t end = name.size();
  while (end > 0 && !is_digit(name[end - 1])) --end;
  std::size_t start = end;
  while (start > 0 && is_digit(name[start - 1])) --start;
  if (end - start > kMaxDigits) return {};
  return {start, end - start};
}

/// The 1 to kMaxDigits digits that `name` has between `prefix` and `suffix`; empty: another name.
[[nodiscard]] constexpr std::string_view between(std::string_view name, std::string_view prefix,
                                                 std::string_view suffix) noexcept {
  const std::size_t fixed = prefix.size() + suffix.size();
  if (name.size() <= fixed || name.size() - fixed > kMaxDigits || !name.starts_with(prefix) ||
      !name.ends_with(suffix)) {
    return {};
  }
  const std::string_view digits = name.substr(prefix.size(), name.size() - fixed);
  return std::ranges::all_of(digits, is_digit) ? digits : std::string_view();
}

/// Appends `number` with at least `width` (at most kMaxDigits) digits.
inline void append_number(std::string& text, std::uint64_t number, unsigned width) {
  std::array<char, 20> digits;
  std::size_t at = digits.size();
  do {
    digits[--at] = static_cast<char>('0' + number % 10);
    number /= 10;
  } while (number > 0);
  while (digits.size() - at < width) digits[--at] = '0';
  text.append(&digits[at], digits.size() - at);
}

/// Adds one to the `size` digits at `start`; they grow by one digit after all nines. False, and
/// the text is then unspecified, when that would pass kMaxDigits.
inline bool increment(std::string& text, std::size_t start, std::size_t& size) {
  for (std::size_t at = start + size; at > start; --at) {
    if (text[at - 1] != '9') {
      ++text[at - 1];
      return true;
    }
    text[at - 1] = '0';
  }
  if (size >= kMaxDigits) return false;
  text.insert(start, 1, '1');
  ++size;
  return true;
}

}  // namespace hal::node_digits
