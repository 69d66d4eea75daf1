// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <optional>

#include "hal/result.h"

namespace hal::classic {

/// What the host's allocator keeps in front of every block. Source: classic ABI sheet 6.
enum class HeaderForm {
  two_ints,   ///< 8 bytes: 0x42 and the size as 32-bit numbers; to 14.03
  two_words,  ///< 16 bytes: the same as 64-bit numbers; from 14.11
};

/// A block that the host's allocator handed out, or that it will take back.
struct HostBlock {
  HeaderForm form;
  std::size_t size;
};

/// Largest block that this code makes or grows.
inline constexpr std::size_t kMaxBlock = std::size_t{1} << 30;

/// Reads the header in front of `pointer`: nothing for null and for memory that the host's
/// allocator did not make. Looks at the 16 bytes before `pointer`, which every heap has.
[[nodiscard]] std::optional<HostBlock> find_block(const void* pointer) noexcept;

/// A zeroed block with a header that the host's free and realloc accept, 8-byte aligned; or null
/// with nothing changed when memory is gone or `size` is over kMaxBlock.
[[nodiscard]] void* allocate_block(HeaderForm form, std::size_t size) noexcept;

/// Makes `pointer`, a block of that header, `size` bytes long; new bytes are zero. The block may
/// move. Null, with the old block intact, when memory is gone or `size` is over kMaxBlock.
[[nodiscard]] void* resize_block(void* pointer, const HostBlock& block, std::size_t size) noexcept;

/// Frees a block of the host; memory without a header, which is not the host's, is left alone.
void free_block(void* pointer) noexcept;

}  // namespace hal::classic
