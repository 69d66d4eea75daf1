// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

#include "backends/elan/elan_hosts.h"
#include "hal/vendor_library.h"

namespace hal::elan {
namespace {

constexpr off_t kMaxFile = off_t{4} << 20;

std::time_t coarse_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec;
}

Failure unreadable(int error_number, const std::string& path) {
  Result<> failed = fail_errno(error_number, path);
  return fail(failed.error().kind, kGetNodeIdByHost,
              failed.error().detail +
                  ": name the map of host names and Elan ids with key elanhosts of hal.conf");
}

Result<> check_file(const struct stat& facts, const std::string& path) {
  if (!S_ISREG(facts.st_mode)) {
    return fail(Errc::invalid_argument, kGetNodeIdByHost, path + ": not a regular file");
  }
  if (facts.st_size > kMaxFile) {
    return fail(Errc::invalid_argument, kGetNodeIdByHost, path + ": larger than 4 MiB");
  }
  if ((facts.st_uid != 0 && facts.st_uid != ::geteuid()) || (facts.st_mode & 022) != 0) {
    return fail(Errc::no_permission, kGetNodeIdByHost,
                path +
                    ": must belong to root or the daemon's user and be writable by no other: "
                    "chown and chmod go-w it");
  }
  return {};
}

}  // namespace

Result<ElanHosts> ElanHosts::load(const std::string& path) {
  // O_NONBLOCK: a FIFO in place of the file must not stop the daemon.
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (!file) return unreadable(errno, path);
  struct stat facts {};
  if (::fstat(file.get(), &facts) != 0) return unreadable(errno, path);
  if (auto checked = check_file(facts, path); !checked) return propagate(std::move(checked));
  std::string text;
  char block[8192];
  while (true) {
    const ssize_t got = ::read(file.get(), block, sizeof block);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return unreadable(errno, path);
    if (got == 0) return parse(text, path);
    text.append(block, static_cast<std::size_t>(got));
    if (text.size() > static_cast<std::size_t>(kMaxFile)) return unreadable(EFBIG, path);
  }
}

Result<const ElanHosts*> ElanHostsFile::current() {
  if (hosts_ && coarse_seconds() < next_check_) return &*hosts_;
  return refreshed();
}

Result<const ElanHosts*> ElanHostsFile::refreshed() {
  next_check_ = coarse_seconds() + 1;
  struct stat facts {};
  Version now;
  if (::stat(path_.c_str(), &facts) == 0) {
    now = {facts.st_dev, facts.st_ino, facts.st_size,
           std::int64_t{facts.st_mtim.tv_sec} * 1'000'000'000 + facts.st_mtim.tv_nsec};
  }
  if (hosts_ && now == version_) return &*hosts_;
  auto loaded = ElanHosts::load(path_);
  if (!loaded && !hosts_) return propagate(std::move(loaded));
  if (loaded) {
    hosts_ = std::move(*loaded);
  } else {
    host_.log(LogLevel::error,
              "Elan: keeping the former host names, because " + loaded.error().detail);
  }
  version_ = now;
  return &*hosts_;
}

}  // namespace hal::elan
