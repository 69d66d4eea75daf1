// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hal/result.h"

namespace hal {

/// Bytes that must survive a crash: written to a temporary file, synced, renamed, directory
/// synced; the previous file stays as "<name>.old". The directory is opened by descriptor, links
/// are not followed, and the file is created 0600.
class StateFile {
 public:
  /// `name` is a plain file name without '/'.
  StateFile(std::string directory, std::string name);

  /// The whole file, or nothing when it does not exist. At most `kMaxSize` bytes.
  /// @return an errno kind when it cannot be read; corrupt: not a regular file, or too large.
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> read() const;
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> read_previous() const;

  /// Replaces the file, all or nothing: after any failure the old one is still there.
  [[nodiscard]] Result<> write(std::span<const std::byte> content) const;

  /// Copies the present file to "<name>.bad" so that a damaged or foreign one is not lost.
  [[nodiscard]] Result<> keep_aside() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  static constexpr std::size_t kMaxSize = std::size_t{256} << 20;

 private:
  std::string directory_;
  std::string name_;
  std::string path_;
};

/// Envelope around a payload: magic, version, length and CRC-32C, all big-endian u32.
[[nodiscard]] std::vector<std::byte> seal(std::uint32_t magic, std::uint32_t version,
                                          std::span<const std::byte> payload);

/// The payload of an envelope of that magic; `version` receives its version.
struct Unsealed {
  std::uint32_t version;
  std::span<const std::byte> payload;  ///< view into the input
};
/// @return corrupt: short, long, wrong magic, wrong checksum.
[[nodiscard]] Result<Unsealed> unseal(std::uint32_t magic, std::span<const std::byte> sealed);

}  // namespace hal
