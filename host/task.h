// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <sys/resource.h>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

#include "hal/result.h"
#include "host/node_step.h"
#include "host/step_messages.h"

namespace hal::host {

/// The tasks of one node, as their parent sees them.
class TaskSet {
 public:
  /// Forks every task, in order, all of them held until a byte each comes through `go_read`;
  /// `go_write` is closed in them. The first one's pid becomes their process group. Afterwards the
  /// tasks' own descriptors are closed here.
  /// @return exhausted: names how many were made; those are held and end when `go_write` closes.
  [[nodiscard]] Result<> spawn(NodeStep& node, const MessageSocket& report, int go_read,
                               int go_write);

  /// What to say of a reaped child; nothing if it is none of the tasks.
  [[nodiscard]] std::optional<TaskEnd> note_end(pid_t pid, int wait_status, const rusage& usage);

  [[nodiscard]] std::span<const TaskBirth> births() const noexcept { return births_; }
  [[nodiscard]] pid_t process_group() const noexcept {
    return births_.empty() ? 0 : births_.front().pid;
  }
  [[nodiscard]] bool is_running(pid_t pid) const { return running_.contains(pid); }
  [[nodiscard]] std::size_t running() const noexcept { return running_.size(); }

 private:
  std::vector<TaskBirth> births_;
  std::unordered_map<pid_t, std::uint32_t> running_;
};

/// Body of a task process, with `env` as the program's environment so far and `arguments` for
/// execve, both made once for all tasks: waits for its byte, attaches to the interconnect, sets the
/// streams up and executes the program. Exit status 1 when attaching or the streams fail, 127 and
/// 126 as shells have it when there is no such program or it cannot be executed.
[[noreturn]] void run_task(NodeStep& node, std::uint32_t local_id, const MessageSocket& report,
                           int go_read, ClassicEnv& env, char* const* arguments);

/// CLOCK_MONOTONIC in nanoseconds.
[[nodiscard]] std::uint64_t monotonic_ns() noexcept;

}  // namespace hal::host
