// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace hal::elan {

// System calls, because glibc 2.36 declares these functions without C linkage.

[[nodiscard]] inline int open_pidfd(pid_t pid) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U));
}

inline int signal_pidfd(int pidfd, int signal_number) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, pidfd, signal_number, nullptr, 0U));
}

}  // namespace hal::elan
