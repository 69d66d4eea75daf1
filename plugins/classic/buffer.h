// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "hal/result.h"

namespace hal::classic {

/// The host's message buffer, as laid out by every release from 0.4 on. Only its four first members
/// are used. Source: classic ABI sheet 5.3.
struct HostBuffer {
  std::uint32_t magic;
  char* head;  ///< a block of the host's allocator
  std::uint32_t size;
  std::uint32_t processed;  ///< bytes written so far, or read so far
};
static_assert(offsetof(HostBuffer, head) == 8 && offsetof(HostBuffer, size) == 16 &&
              offsetof(HostBuffer, processed) == 20 && sizeof(HostBuffer) == 24);

inline constexpr std::uint32_t kBufferMagic = 0x42554545;
inline constexpr std::uint32_t kMaxBuffer = 0x3fffffff;

/// Writes `bytes` at the write position; grows the buffer as the host would.
/// @return invalid_argument: not a buffer; exhausted (ENOBUFS): it cannot grow that far.
[[nodiscard]] Result<> append(HostBuffer* buffer, std::span<const std::byte> bytes);

/// The bytes not read yet. @return invalid_argument: not a buffer.
[[nodiscard]] Result<std::span<const std::byte>> unread(const HostBuffer* buffer);

/// Moves the read position; `size` is at most what `unread` gave.
void consume(HostBuffer* buffer, std::size_t size) noexcept;

}  // namespace hal::classic
