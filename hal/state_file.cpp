// SPDX-License-Identifier: BSD-3-Clause
#include "hal/state_file.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "hal/bytes.h"
#include "hal/vendor_library.h"

namespace hal {
namespace {

using Content = std::optional<std::vector<std::byte>>;

constexpr std::size_t kSealSize = 16;

Result<> check_trusted(const struct stat& facts, mode_t tolerated, const std::string& path) {
  if (facts.st_uid != 0 && facts.st_uid != ::geteuid()) {
    return fail(Errc::no_permission, EPERM,
                path + ": owned by user " + std::to_string(facts.st_uid) +
                    ", must be root's or the daemon user's: chown it");
  }
  if ((facts.st_mode & (S_IWGRP | S_IWOTH)) != 0 && (facts.st_mode & tolerated) == 0) {
    return fail(Errc::no_permission, EPERM,
                path + ": writable by others than its owner: chmod go-w it");
  }
  return {};
}

Result<UniqueFd> open_directory(const std::string& path) {
  UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  struct stat facts {};
  if (!directory || ::fstat(directory.get(), &facts) != 0) return fail_errno(errno, path);
  if (auto trusted = check_trusted(facts, S_ISVTX, path); !trusted) {
    return propagate(std::move(trusted));
  }
  return directory;
}

Result<> write_all(int fd, std::span<const std::byte> content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t put = ::write(fd, content.data(), content.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return fail_errno(put < 0 ? errno : ENOSPC, path);
    content = content.subspan(static_cast<std::size_t>(put));
  }
  return {};
}

/// The state file's directory and the operations in it; names are relative to the descriptor.
class Directory {
 public:
  static Result<Directory> open(const std::string& path) {
    return open_directory(path).transform(
        [&](UniqueFd&& fd) { return Directory(std::move(fd), path); });
  }

  /// Nothing when there is no such file; an error when something else stands in its place.
  [[nodiscard]] Result<std::optional<UniqueFd>> open_file(const std::string& name) const {
    // O_NONBLOCK: a FIFO in place of the file must not stop the daemon.
    UniqueFd file(
        ::openat(fd_.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) return std::nullopt;
    if (!file && errno == ELOOP) {
      return fail(Errc::corrupt, ELOOP, path(name) + ": is a symbolic link: remove it");
    }
    struct stat facts {};
    if (!file || ::fstat(file.get(), &facts) != 0) return fail_errno(errno, path(name));
    if (!S_ISREG(facts.st_mode)) {
      return fail(Errc::corrupt, EBADMSG, path(name) + ": not a regular file: remove it");
    }
    if (auto trusted = check_trusted(facts, 0, path(name)); !trusted) {
      return propagate(std::move(trusted));
    }
    return std::optional<UniqueFd>(std::move(file));
  }

  [[nodiscard]] Result<Content> read(const std::string& name) const {
    auto file = open_file(name);
    if (!file) return propagate(std::move(file));
    if (!*file) return Content();
    struct stat facts {};
    if (::fstat((*file)->get(), &facts) != 0) return fail_errno(errno, path(name));
    if (static_cast<std::uint64_t>(facts.st_size) > StateFile::kMaxSize) return too_large(name);
    std::vector<std::byte> bytes(static_cast<std::size_t>(facts.st_size) + 1);
    std::size_t size = 0;
    while (true) {
      if (size == bytes.size()) bytes.resize(size + kBlock);  // it grows as it is read
      const ssize_t got = ::read((*file)->get(), bytes.data() + size, bytes.size() - size);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return fail_errno(errno, path(name));
      if (got == 0) break;
      size += static_cast<std::size_t>(got);
      if (size > StateFile::kMaxSize) return too_large(name);
    }
    bytes.resize(size);
    return Content(std::move(bytes));
  }

  /// A new file of that content on the disk, in place of whatever had the name.
  [[nodiscard]] Result<> create(const std::string& name, std::span<const std::byte> content) const {
    if (::unlinkat(fd_.get(), name.c_str(), 0) != 0 && errno != ENOENT) {
      return fail_errno(errno, path(name));
    }
    const UniqueFd file(::openat(fd_.get(), name.c_str(),
                                 O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!file) return fail_errno(errno, path(name));
    auto written = write_all(file.get(), content, path(name));
    if (written && ::fsync(file.get()) != 0) written = fail_errno(errno, path(name));
    if (!written) ::unlinkat(fd_.get(), name.c_str(), 0);
    return written;
  }

  /// Gives the file `from` a second name; `to` is replaced in one step. No file is success.
  [[nodiscard]] Result<> keep(const std::string& from, const std::string& to) const {
    auto present = open_file(from);
    if (!present) return propagate(std::move(present));
    if (!*present) return {};
    const std::string step = to + ".tmp";
    ::unlinkat(fd_.get(), step.c_str(), 0);
    if (::linkat(fd_.get(), from.c_str(), fd_.get(), step.c_str(), 0) != 0) {
      // Some network file systems have no hard links.
      auto content = read(from);
      if (!content) return propagate(std::move(content));
      if (auto copied = create(step, content->value_or(std::vector<std::byte>())); !copied) {
        return copied;
      }
    }
    auto moved = rename(step, to);
    // Two names of one file: rename leaves both and reports success.
    ::unlinkat(fd_.get(), step.c_str(), 0);
    return moved;
  }

  [[nodiscard]] Result<> rename(const std::string& from, const std::string& to) const {
    if (::renameat(fd_.get(), from.c_str(), fd_.get(), to.c_str()) == 0) return {};
    const int reason = errno;
    ::unlinkat(fd_.get(), from.c_str(), 0);
    return fail_errno(reason, path(to));
  }

  void remove(const std::string& name) const { ::unlinkat(fd_.get(), name.c_str(), 0); }

  [[nodiscard]] Result<> sync() const {
    if (::fsync(fd_.get()) != 0) return fail_errno(errno, path_);
    return {};
  }

 private:
  Directory(UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  static constexpr std::size_t kBlock = std::size_t{64} << 10;

  [[nodiscard]] std::string path(const std::string& name) const { return path_ + '/' + name; }

  [[nodiscard]] Failure too_large(const std::string& name) const {
    return fail(Errc::corrupt, EFBIG, path(name) + ": larger than any state file");
  }

  UniqueFd fd_;
  std::string path_;
};

Result<Content> read_from(const std::string& directory, const std::string& name) {
  auto opened = Directory::open(directory);
  if (!opened) return propagate(std::move(opened));
  return opened->read(name);
}

std::uint32_t checksum(std::span<const std::byte> header, std::span<const std::byte> payload) {
  return crc32c(payload, crc32c(header));
}

}  // namespace

StateFile::StateFile(std::string directory, std::string name)
    : directory_(std::move(directory)), name_(std::move(name)), path_(directory_ + '/' + name_) {}

Result<Content> StateFile::read() const { return read_from(directory_, name_); }

Result<Content> StateFile::read_previous() const { return read_from(directory_, name_ + ".old"); }

Result<> StateFile::write(std::span<const std::byte> content) const {
  if (name_.empty() || name_.find('/') != std::string::npos || name_ == "." || name_ == "..") {
    return fail(Errc::invalid_argument, EINVAL, "'" + name_ + "' is not a plain file name");
  }
  if (content.size() > kMaxSize) {
    return fail(Errc::invalid_argument, EFBIG, path_ + ": larger than any state file");
  }
  auto directory = Directory::open(directory_);
  if (!directory) return propagate(std::move(directory));
  const std::string fresh = name_ + ".tmp";
  if (auto created = directory->create(fresh, content); !created) return created;
  if (auto kept = directory->keep(name_, name_ + ".old"); !kept) {
    directory->remove(fresh);
    return kept;
  }
  if (auto moved = directory->rename(fresh, name_); !moved) return moved;
  return directory->sync();
}

Result<> StateFile::keep_aside() const {
  auto directory = Directory::open(directory_);
  if (!directory) return propagate(std::move(directory));
  if (auto kept = directory->keep(name_, name_ + ".bad"); !kept) return kept;
  return directory->sync();
}

std::vector<std::byte> seal(std::uint32_t magic, std::uint32_t version,
                            std::span<const std::byte> payload) {
  ByteWriter writer;
  writer.reserve(kSealSize + payload.size());
  writer.u32(magic);
  writer.u32(version);
  writer.u32(static_cast<std::uint32_t>(payload.size()));
  writer.u32(checksum(writer.view(), payload));
  writer.append(payload);
  return std::move(writer).release();
}

Result<Unsealed> unseal(std::uint32_t magic, std::span<const std::byte> sealed) {
  ByteReader reader(sealed);
  const auto header = reader.take(kSealSize - sizeof(std::uint32_t));
  const auto stored = reader.u32();
  if (!header || !stored) {
    return fail(Errc::corrupt, EBADMSG,
                "envelope of " + std::to_string(sealed.size()) + " bytes: truncated");
  }
  ByteReader fields(*header);
  if (fields.u32() != magic) return fail(Errc::corrupt, EBADMSG, "envelope with another magic");
  const std::uint32_t version = *fields.u32();
  const std::uint32_t length = *fields.u32();
  if (length != reader.remaining()) {
    return fail(Errc::corrupt, EBADMSG,
                "envelope of " + std::to_string(length) + " bytes holds " +
                    std::to_string(reader.remaining()));
  }
  const auto payload = sealed.subspan(kSealSize);
  if (checksum(*header, payload) != *stored) {
    return fail(Errc::corrupt, EBADMSG, "envelope with a wrong checksum: damaged");
  }
  return Unsealed{version, payload};
}

}  // namespace hal
