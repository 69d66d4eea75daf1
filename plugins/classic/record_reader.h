// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hal::classic {

/// Place of a member in a foreign record; kAbsent where the release has none.
using Offset = std::uint16_t;
inline constexpr Offset kAbsent = 0xffff;

/// The member at `offset`, or `fallback` where there is none. The record may be unaligned.
template <class T>
[[nodiscard]] T read_member(const void* record, Offset offset, T fallback = T{}) noexcept {
  if (offset == kAbsent) return fallback;
  T value;
  std::memcpy(&value, static_cast<const std::byte*>(record) + offset, sizeof value);
  return value;
}

}  // namespace hal::classic
