// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>
#include <vector>

#include "hal/result.h"

namespace hal::host {

/// What /proc says about one process.
struct ProcessFacts {
  pid_t pid = 0;
  pid_t parent = 0;
  char state = '?';
  std::uint32_t thread_count = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot

  /// A process whose first thread has exited looks like a zombie but still runs.
  [[nodiscard]] bool dead() const noexcept {
    return state == 'X' || (state == 'Z' && thread_count <= 1);
  }
};

/// @return nothing when the process does not exist (any more).
[[nodiscard]] std::optional<ProcessFacts> process_facts(pid_t pid);

/// Text that differs after each boot; empty if the kernel does not say.
[[nodiscard]] std::string boot_id();

/// True while the very process that started at `start_time` exists and is not a zombie.
[[nodiscard]] bool is_alive(pid_t pid, std::uint64_t start_time);

/// Kills the very process that started at `start_time`, through a descriptor of it, and waits until
/// it is gone. True if it is gone, or never was; false after `limit`.
bool kill_process(pid_t pid, std::uint64_t start_time, std::chrono::milliseconds limit);

/// Makes orphans among the caller's descendants its own children, so that none can get away.
[[nodiscard]] Result<> adopt_orphans();

/// The caller's own children, zombies included.
[[nodiscard]] std::vector<ProcessFacts> children();

/// A child that has ended.
struct EndedChild {
  pid_t pid = 0;
  int wait_status = 0;
  rusage usage{};
};

/// Reaps one child that has ended; nothing when there is none.
[[nodiscard]] std::optional<EndedChild> reap_child();

/// Waits until that very process is gone; false after `limit`.
bool wait_for_end(pid_t pid, std::uint64_t start_time, std::chrono::milliseconds limit);

/// Kills every descendant of the caller once, except the process `spared` itself and the subtrees
/// of the `helpers`; does not wait.
void kill_descendants(pid_t spared, std::span<const pid_t> helpers);

/// What a sweep found.
struct SweepResult {
  std::uint32_t found = 0;      ///< live processes that were there
  std::uint32_t survivors = 0;  ///< still there at the deadline
};

/// Told of each child that the sweep reaps.
using Reaped = std::function<void(pid_t pid, int wait_status)>;

/// Kills every descendant of the caller except the subtrees of `spared` children, reaps those that
/// are its children, and repeats until nobody is left. The caller must have adopted orphans; then
/// "no child left" proves that no descendant is left.
SweepResult sweep_descendants(std::span<const pid_t> spared, std::chrono::milliseconds limit,
                              const Reaped& reaped);

}  // namespace hal::host
