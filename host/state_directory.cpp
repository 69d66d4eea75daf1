// SPDX-License-Identifier: BSD-3-Clause
#include "host/state_directory.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cinttypes>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "host/site_conf.h"

namespace hal::host {
namespace {

/// Above this, SLURM's own numbers begin to have other meanings.
constexpr std::uint32_t kLastJob = 0x03ffffff;

/// Takes blanks, `word` and the number behind it off `text`; false: they are not there.
template <class Number>
bool take_number(std::string_view& text, std::string_view word, Number& number) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc{};
}

}  // namespace

Result<StateDirectory> StateDirectory::open(const std::string& path) {
  StateDirectory state;
  auto prepared = prepare_state_directory(path);
  if (!prepared) return propagate(std::move(prepared));
  state.path_ = std::move(*prepared);
  state.directory_.reset(
      ::open(state.path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!state.directory_) return fail_errno(errno, "state directory '" + state.path_ + "'");
  const int fd = state.directory_.get();
  if (::mkdirat(fd, "ledger", 0700) != 0 && errno != EEXIST) {
    return fail_errno(errno, "'" + state.path_ + "/ledger'");
  }
  state.ledgers_.reset(::openat(fd, "ledger", O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW));
  if (!state.ledgers_) return fail_errno(errno, "'" + state.path_ + "/ledger'");
  state.lock_.reset(::openat(fd, "jobs", O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!state.lock_) return fail_errno(errno, "'" + state.path_ + "/jobs'");
  return state;
}

Result<StateDirectory::Lock> StateDirectory::lock() {
  while (::flock(lock_.get(), LOCK_EX) != 0) {
    if (errno != EINTR) return fail_errno(errno, "lock of '" + path_ + "/jobs'");
  }
  Lock lock(lock_.get());
  char text[96];
  const ssize_t size = ::pread(lock_.get(), text, sizeof text - 1, 0);
  if (size > 0) {
    std::string_view rest(text, static_cast<std::size_t>(size));
    Counters read;
    // A damaged file costs the count, not the run: ledgers keep two steps from sharing a number.
    if (take_number(rest, "job ", read.next_job) && take_number(rest, "change ", read.generation) &&
        read.next_job > 0 && read.next_job <= kLastJob) {
      lock.counters_ = read;
    }
  }
  return lock;
}

StateDirectory::Lock::Lock(Lock&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), counters_(other.counters_) {}

StateDirectory::Lock::~Lock() {
  if (fd_ >= 0) ::flock(fd_, LOCK_UN);
}

Result<JobId> StateDirectory::Lock::take_job() {
  const JobId job{counters_.next_job};
  counters_.next_job = counters_.next_job >= kLastJob ? 1 : counters_.next_job + 1;
  ++counters_.generation;
  if (auto written = write(); !written) return propagate(std::move(written));
  return job;
}

Result<> StateDirectory::Lock::count_change() {
  ++counters_.generation;
  return write();
}

Result<> StateDirectory::Lock::write() {
  char text[96];
  const int size = std::snprintf(text, sizeof text, "job %-10" PRIu32 " change %-20" PRIu64 "\n",
                                 counters_.next_job, counters_.generation);
  if (::pwrite(fd_, text, static_cast<std::size_t>(size), 0) != size) {
    return fail_errno(errno, "writing the job counter");
  }
  return {};
}

}  // namespace hal::host
