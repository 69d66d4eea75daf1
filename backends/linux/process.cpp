// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/process.h"

#include <cerrno>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hal::linux_host {
namespace {

constexpr unsigned kSignalProcess = 0;
constexpr unsigned kSignalProcessGroup = 4;  // PIDFD_SIGNAL_PROCESS_GROUP

int pidfd_send_signal(const UniqueFd& pidfd, int signal_number, unsigned flags) noexcept {
  const long result = ::syscall(SYS_pidfd_send_signal, pidfd.get(), signal_number, nullptr, flags);
  return result == 0 ? 0 : errno;
}

}  // namespace

UniqueFd open_pidfd(pid_t pid) noexcept {
  return UniqueFd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

bool has_exited(const UniqueFd& pidfd) noexcept {
  pollfd entry{.fd = pidfd.get(), .events = POLLIN, .revents = 0};
  int ready = 0;
  do {
    ready = ::poll(&entry, 1, 0);
  } while (ready < 0 && errno == EINTR);
  return ready > 0;
}

std::optional<bool> child_runs(pid_t pid) noexcept {
  siginfo_t info{};
  const int options = WEXITED | WNOHANG | WNOWAIT;
  if (::waitid(P_PID, static_cast<id_t>(pid), &info, options) != 0) return {};
  return info.si_pid == 0;
}

int send_signal(const UniqueFd& pidfd, int signal_number) noexcept {
  return pidfd_send_signal(pidfd, signal_number, kSignalProcess);
}

int send_group_signal(const UniqueFd& leader, int signal_number) noexcept {
  return pidfd_send_signal(leader, signal_number, kSignalProcessGroup);
}

}  // namespace hal::linux_host
