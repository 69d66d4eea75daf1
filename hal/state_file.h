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

/// Bytes that must survive a crash: written to "<name>.tmp", synced, renamed, directory synced; the
/// previous file stays as "<name>.old". At every instant `name` is the old file or the new one.
///
/// The directory is opened once per call and everything in it is reached through that descriptor.
/// Links on the way to the directory are followed, because sites keep state on shared disks, but
/// the directory must be owned by root or the effective user and writable by its owner only (or
/// sticky, as /tmp is). Links in place of the file are refused, and so is a file of another owner
/// or one that others can write. Files are created 0600. One writer at a time: its owner locks.
class StateFile {
 public:
  /// `name` is a plain file name without '/'.
  StateFile(std::string directory, std::string name);

  /// The whole file, or nothing when it does not exist. At most `kMaxSize` bytes.
  /// @return not_found: no such directory; no_permission: unsafe directory or file; another errno
  /// kind when it cannot be read; corrupt: a link, not a regular file, or too large.
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> read() const;
  [[nodiscard]] Result<std::optional<std::vector<std::byte>>> read_previous() const;

  /// Replaces the file, all or nothing: after any failure the old content is still there (as
  /// "<name>.old" in the one case that only the last sync, of the directory, failed).
  /// @return as `read`, and exhausted: no space; invalid_argument: a bad name, or too large.
  [[nodiscard]] Result<> write(std::span<const std::byte> content) const;

  /// Keeps the present file as "<name>.bad" too, so that a damaged or foreign one is not lost to
  /// the next write. No file is success.
  [[nodiscard]] Result<> keep_aside() const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  static constexpr std::size_t kMaxSize = std::size_t{256} << 20;

 private:
  std::string directory_;
  std::string name_;
  std::string path_;
};

/// Envelope around a payload: magic, version, length of the payload and CRC-32C of all that but
/// itself, each a big-endian u32, then the payload, which is below 4 GiB.
[[nodiscard]] std::vector<std::byte> seal(std::uint32_t magic, std::uint32_t version,
                                          std::span<const std::byte> payload);

struct Unsealed {
  std::uint32_t version;
  std::span<const std::byte> payload;  ///< view into the input
};

/// The payload of an envelope of that magic.
/// @return corrupt: short, long, wrong magic, wrong checksum.
[[nodiscard]] Result<Unsealed> unseal(std::uint32_t magic, std::span<const std::byte> sealed);

}  // namespace hal
