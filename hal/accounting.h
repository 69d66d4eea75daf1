// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <sys/resource.h>
#include <sys/types.h>

#include "hal/result.h"
#include "hal/types.h"

namespace hal {

/// A job as the controller knows it, copied out of the host's record. Times are seconds since the
/// epoch; 0 means "not yet". Texts may be empty: a queued job has no nodes.
struct JobFacts {
  JobId job{};
  uid_t owner = 0;
  gid_t group = 0;
  std::string name;
  std::string partition;
  std::string nodes;
  std::uint32_t state = 0;
  std::uint32_t priority = 0;
  std::uint32_t task_count = 0;
  bool batch = false;
  std::time_t submitted = 0;
  std::time_t started = 0;
  std::time_t ended = 0;
};

/// The controller's side of accounting: jobs and what nodes report. Runs in the controller, thread
/// safe. A record that was accepted is never lost. Clauses AC-01..AC-08.
class ControllerAccounting {
 public:
  virtual ~ControllerAccounting() = default;

  /// At start and at each reconfigure: `location` and `parameters` are the host's JobAcctLoc and
  /// JobAcctParameters. [AC-01]
  [[nodiscard]] virtual Result<> open(const std::string& location,
                                      const std::string& parameters) = 0;

  [[nodiscard]] virtual Result<> job_started(const JobFacts& job) = 0;
  [[nodiscard]] virtual Result<> job_completed(const JobFacts& job) = 0;

  /// A message from a node, as the bytes that its NodeAccounting sent. @return corrupt. [AC-04]
  [[nodiscard]] virtual Result<> receive(std::span<const std::byte> message) = 0;
};

/// How one task ended.
struct TaskEnd {
  pid_t pid = 0;
  int wait_status = 0;  ///< raw, as wait4 gives it
  rusage usage{};
};

/// The node's side of accounting. The classic documents split it over four processes that share
/// nothing: each call must be usable in a process that saw none of the others. Clauses
/// AN-01..AN-08.
class NodeAccounting {
 public:
  virtual ~NodeAccounting() = default;

  [[nodiscard]] virtual Result<> open(const std::string& parameters) = 0;

  /// Job manager, root, before the switch context is opened / after it was destroyed.
  /// `session_status` is the session manager's raw wait status, or -1. [AN-02, AN-05]
  [[nodiscard]] virtual Result<> step_launched(const StepDescriptor& step) = 0;
  [[nodiscard]] virtual Result<> step_terminated(const StepDescriptor& step,
                                                 int session_status) = 0;

  /// Session manager, after the tasks were forked. [AN-03]
  [[nodiscard]] virtual Result<> session_started() = 0;

  /// Session manager, for each task as it is reaped. [AN-04]
  [[nodiscard]] virtual Result<> task_ended(const StepDescriptor& step, const TaskEnd& end) = 0;

  /// The node daemon got a message from another node. @return corrupt. [AN-06]
  [[nodiscard]] virtual Result<> receive(std::span<const std::byte> message) = 0;
};

}  // namespace hal
