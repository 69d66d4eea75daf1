// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <sys/types.h>

#include "hal/vendor_library.h"

namespace hal::linux_host {

/// A reference to one process that a reused number cannot redirect; close-on-exec. Invalid, with
/// errno, when there is no such process (ESRCH), `pid` is a thread (EINVAL or ENOENT, by kernel),
/// or descriptors are used up. Needs Linux 5.3.
[[nodiscard]] UniqueFd open_pidfd(pid_t pid) noexcept;

/// All threads of the process have ended, whether or not its parent has reaped it.
[[nodiscard]] bool has_exited(const UniqueFd& pidfd) noexcept;

/// Whether a child of the caller still runs, without the cost of a reference; nothing when `pid` is
/// no child.
[[nodiscard]] std::optional<bool> child_runs(pid_t pid) noexcept;

/// Sends a signal, or with 0 only checks. 0 or an errno value; ESRCH after the process was reaped.
[[nodiscard]] int send_signal(const UniqueFd& pidfd, int signal_number) noexcept;

/// Sends a signal to every member of the process group that this process once made, also after
/// the process itself is gone. 0 or an errno value: ESRCH for an empty group, EINVAL where the
/// kernel is older than Linux 6.9.
[[nodiscard]] int send_group_signal(const UniqueFd& leader, int signal_number) noexcept;

}  // namespace hal::linux_host
