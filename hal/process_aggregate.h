// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "hal/result.h"
#include "hal/types.h"

namespace hal {

/// The processes of a step on one node, as one object. Runs in the process that manages the step,
/// usually as root; thread safe; usable in a child after fork. Ids 0, 1, all ones and unknown ones
/// are refused everywhere and never reach a kill call. Clauses PA-01..PA-23 of docs/contract.md.
class ProcessAggregate {
 public:
  virtual ~ProcessAggregate() = default;

  /// Makes an empty aggregate; before the first task. The id is none of 0, 1, all ones. [PA-01]
  [[nodiscard]] virtual Result<ContainerId> create(const StepDescriptor& step) = 0;

  /// Puts exactly that process and its later children in; again is success. `step` is the present
  /// state of the record (its process_group is known by now). [PA-02] [PA-08] [PA-09]
  /// @return invalid_argument: pid 0, negative, own, the manager's, a kernel thread, or a process
  /// that this tracker cannot hold, id 0; no_permission: pid 1, a process that the caller may not
  /// signal; not_found (ESRCH): no such process, a zombie, an unknown id; busy: in another
  /// aggregate, or this one is being killed.
  [[nodiscard]] virtual Result<> add(ContainerId id, pid_t pid, const StepDescriptor& step) = 0;

  /// Signals every member once; 0 only asks whether a live (not zombie) member exists. The caller
  /// is never signalled. [PA-03]
  /// @return invalid_argument: no such signal; not_found (ESRCH): no member, unknown id;
  /// no_permission.
  [[nodiscard]] virtual Result<> signal(ContainerId id, int signal_number) = 0;

  /// Forgets the aggregate, without touching its members. Again is success, and so is id 0. [PA-04]
  /// @return not_found: an id that was never handed out.
  [[nodiscard]] virtual Result<> destroy(ContainerId id) = 0;

  /// The aggregate that holds `pid`, or kNoContainer. [PA-05]
  [[nodiscard]] virtual ContainerId find(pid_t pid) = 0;

  /// Live members, in no order, each once. Empty is success. [PA-06]
  /// @return not_found: unknown id.
  [[nodiscard]] virtual Result<std::vector<pid_t>> pids(ContainerId id) = 0;

  /// Kills what is left and waits until nothing but zombies remains; then the aggregate is
  /// destroyed, because hosts of the documents' years never call destroy. [PA-07]
  /// @return invalid_argument: id 0 or 1; timed_out: members survive, named with their state.
  [[nodiscard]] virtual Result<> wait_empty(ContainerId id, std::chrono::milliseconds limit) = 0;

  /// What this tracker cannot hold, for `doctor`; empty when nothing escapes it.
  [[nodiscard]] virtual std::string_view weakness() const = 0;
};

}  // namespace hal
