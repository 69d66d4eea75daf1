// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/exit_wait.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <string>

namespace hal::linux_host {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMostWatched = 128;
constexpr std::size_t kMostNamed = 8;
/// A member may fork before the kill reaches it, or a signal may be lost to a security module:
/// kill and look again this often, however long the wait.
constexpr milliseconds kRound{250};

milliseconds time_left(Clock& clock, Clock::TimePoint deadline) {
  return std::chrono::ceil<milliseconds>(deadline - clock.now());
}

Failure survivors(const ProcFs& proc, const ExitWait& wait, milliseconds limit, int kill_error) {
  std::string text = "still alive " + std::to_string(limit.count()) + " ms after the kill:";
  const auto& pids = wait.pids();
  for (std::size_t i = 0; i < std::min(pids.size(), kMostNamed); ++i) {
    text += (i == 0 ? " " : ", ") + std::to_string(pids[i]) + " (" + proc.describe(pids[i]) + ")";
  }
  if (pids.size() > kMostNamed) text += ", and more";
  if (kill_error != 0 && kill_error != ESRCH) {
    text += std::string("; the kill was refused: ") + ::strerrordesc_np(kill_error);
  }
  return fail(Errc::timed_out, ETIMEDOUT, std::move(text));
}

}  // namespace

bool ExitWait::watch(pid_t pid, UniqueFd process) {
  pids_.push_back(pid);
  processes_.push_back(std::move(process));
  return processes_.size() < kMostWatched;
}

void ExitWait::wait(Clock& clock, milliseconds limit) const {
  const auto deadline = clock.now() + limit;
  std::vector<pollfd> entries;
  for (const auto& process : processes_) {
    entries.push_back({.fd = process.get(), .events = POLLIN, .revents = 0});
  }
  while (!entries.empty()) {
    const auto left = time_left(clock, deadline);
    if (left.count() <= 0) return;
    const int ready = ::poll(entries.data(), entries.size(), static_cast<int>(left.count()));
    if (ready < 0 && errno != EINTR) return;
    if (ready > 0) std::erase_if(entries, [](const pollfd& entry) { return entry.revents != 0; });
  }
}

Result<> kill_until_empty(const ProcFs& proc, Clock& clock, milliseconds limit,
                          const std::function<int()>& kill,
                          const std::function<Result<>(ExitWait&)>& list) {
  const auto deadline = clock.now() + limit;
  while (true) {
    const int kill_error = kill();
    ExitWait wait;
    if (auto listed = list(wait); !listed) return listed;
    if (wait.empty()) return {};
    const auto left = time_left(clock, deadline);
    if (left.count() <= 0) return survivors(proc, wait, limit, kill_error);
    wait.wait(clock, std::min(left, kRound));
  }
}

}  // namespace hal::linux_host
