// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <sys/types.h>

#include "hal/result.h"
#include "hal/types.h"

namespace hal {

/// What all steps of one job share on one node (a clean-up group, a private /tmp). Runs in the node
/// daemon and in step managers as root; several processes act on one job. Clauses JC-01..JC-12.
class JobContainer {
 public:
  virtual ~JobContainer() = default;

  /// Makes the container of `job` for `owner` (all ones when the host does not say). The host calls
  /// it for the batch script and again for the first step: again is success. [JC-01]
  [[nodiscard]] virtual Result<> create(JobId job, uid_t owner) = 0;

  /// Puts a step's process aggregate in. [JC-02]
  /// @return not_found: no such container.
  [[nodiscard]] virtual Result<> add_aggregate(JobId job, ContainerId aggregate) = 0;

  /// Puts one process in. Source: job_container before 19.05. [JC-03]
  [[nodiscard]] virtual Result<> add_process(JobId job, pid_t pid, uid_t owner) = 0;

  /// Moves the calling process, a fresh fork of the daemon, into the container. Fork safe: takes no
  /// lock that another thread may hold. [JC-04]
  [[nodiscard]] virtual Result<> join(JobId job, uid_t owner) = 0;

  /// After a restart of the daemon: takes up the containers recorded in `directory`, or forgets
  /// them when `keep` is false. [JC-05]
  [[nodiscard]] virtual Result<> recover(const std::string& directory, bool keep) = 0;

  /// The job is over; members need not be. Unknown is success: the undo of a create that may not
  /// have happened. [JC-06]
  [[nodiscard]] virtual Result<> destroy(JobId job) = 0;

  /// Debug flags or configuration changed.
  virtual void reconfigure() = 0;
};

}  // namespace hal
