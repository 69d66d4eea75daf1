// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hal::elan {

static_assert(std::endian::native == std::endian::little ||
              std::endian::native == std::endian::big);

[[nodiscard]] inline std::uint32_t load_word(const std::byte* at) noexcept {
  std::uint32_t value;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap32(value) : value;
}

inline void store_word(std::byte* at, std::uint32_t value) noexcept {
  if (std::endian::native == std::endian::little) value = __builtin_bswap32(value);
  std::memcpy(at, &value, sizeof value);
}

[[nodiscard]] inline std::uint16_t load_half(const std::byte* at) noexcept {
  std::uint16_t value;
  std::memcpy(&value, at, sizeof value);
  return std::endian::native == std::endian::little ? __builtin_bswap16(value) : value;
}

inline void store_half(std::byte* at, std::uint16_t value) noexcept {
  if (std::endian::native == std::endian::little) value = __builtin_bswap16(value);
  std::memcpy(at, &value, sizeof value);
}

/// A bitmap in wire form: bit b is in big-endian word b/32, mask 1<<(b%32). Works by words.
class WireBitmap {
 public:
  explicit WireBitmap(std::byte* base) noexcept : base_(base) {}

  /// Sets `count` bits from `first`.
  void set(std::size_t first, std::size_t count) noexcept {
    if (count == 0) return;
    const std::size_t last = first + count - 1;
    const std::size_t low_word = first / 32;
    const std::size_t high_word = last / 32;
    const std::uint32_t low_mask = ~0U << (first % 32);
    const std::uint32_t high_mask = ~0U >> (31 - last % 32);
    if (low_word == high_word) {
      merge(low_word, low_mask & high_mask);
      return;
    }
    merge(low_word, low_mask);
    std::memset(base_ + 4 * (low_word + 1), 0xFF, 4 * (high_word - low_word - 1));
    merge(high_word, high_mask);
  }

  /// Clears the bits from `first` on; `size` is a multiple of 32.
  void truncate(std::size_t first, std::size_t size) noexcept {
    const std::size_t rest = first % 32;
    std::size_t word = first / 32;
    if (rest != 0) {
      store_word(base_ + 4 * word, load_word(base_ + 4 * word) & ~(~0U << rest));
      ++word;
    }
    std::memset(base_ + 4 * word, 0, size / 8 - 4 * word);
  }

 private:
  void merge(std::size_t word, std::uint32_t mask) noexcept {
    std::byte* at = base_ + 4 * word;
    store_word(at, load_word(at) | mask);
  }

  std::byte* base_;
};

}  // namespace hal::elan
