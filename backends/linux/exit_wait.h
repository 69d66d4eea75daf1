// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <sys/types.h>
#include <vector>

#include "backends/linux/procfs.h"
#include "hal/host.h"
#include "hal/result.h"
#include "hal/vendor_library.h"

namespace hal::linux_host {

/// Waits for the end of a bounded number of processes at a time, so that a step of thousands does
/// not use up the descriptors.
class ExitWait {
 public:
  /// Watches one more process; false once enough are watched.
  bool watch(pid_t pid, UniqueFd process);

  [[nodiscard]] bool empty() const noexcept { return processes_.empty(); }
  [[nodiscard]] const std::vector<pid_t>& pids() const noexcept { return pids_; }

  /// Returns when every watched process has ended, or after `limit`.
  void wait(Clock& clock, std::chrono::milliseconds limit) const;

 private:
  std::vector<pid_t> pids_;
  std::vector<UniqueFd> processes_;
};

/// Kills and waits until `list` finds no live member. `kill` signals all members and answers 0 or
/// an errno value; `list` puts live members into the wait it is given. Zombies do not count.
/// @return timed_out: names survivors with their state; or the error of `list`.
[[nodiscard]] Result<> kill_until_empty(const ProcFs& proc, Clock& clock,
                                        std::chrono::milliseconds limit,
                                        const std::function<int()>& kill,
                                        const std::function<Result<>(ExitWait&)>& list);

}  // namespace hal::linux_host
