// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "hal/result.h"

namespace hal {

/// Reads big-endian numbers and blocks from bytes that somebody else wrote. Never reads past the
/// end: each call answers `corrupt` (code EBADMSG) with the offset when too little is left, and
/// then leaves the position where it was.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  [[nodiscard]] Result<std::uint8_t> u8();
  [[nodiscard]] Result<std::uint16_t> u16();
  [[nodiscard]] Result<std::uint32_t> u32();
  [[nodiscard]] Result<std::uint64_t> u64();
  [[nodiscard]] Result<std::int32_t> i32();

  /// The next `size` bytes, as a view into the input.
  [[nodiscard]] Result<std::span<const std::byte>> take(std::size_t size);

  [[nodiscard]] std::size_t remaining() const noexcept { return bytes_.size() - offset_; }
  [[nodiscard]] std::size_t offset() const noexcept { return offset_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t offset_ = 0;
};

/// Appends big-endian numbers and blocks to a growing vector.
class ByteWriter {
 public:
  void reserve(std::size_t size) { bytes_.reserve(size); }
  void u8(std::uint8_t value);
  void u16(std::uint16_t value);
  void u32(std::uint32_t value);
  void u64(std::uint64_t value);
  void i32(std::int32_t value) { u32(static_cast<std::uint32_t>(value)); }
  void append(std::span<const std::byte> block);

  [[nodiscard]] std::span<const std::byte> view() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte> release() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// CRC-32C (Castagnoli, reflected, initial and final value all ones) of `bytes`; pass an earlier
/// result as `seed` to continue. crc32c("123456789") is 0xe3069283.
[[nodiscard]] std::uint32_t crc32c(std::span<const std::byte> bytes,
                                   std::uint32_t seed = 0) noexcept;

/// The same by tables alone: what `crc32c` is on processors without an instruction for it.
[[nodiscard]] std::uint32_t crc32c_portable(std::span<const std::byte> bytes,
                                            std::uint32_t seed = 0) noexcept;

/// The characters of `text` as bytes, without a copy.
[[nodiscard]] inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace hal
