// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <sys/types.h>

#include "backends/linux/group_table.h"
#include "backends/linux/process_group.h"
#include "backends/linux/procfs.h"
#include "hal/result.h"
#include "hal/types.h"

namespace hal::linux_host {

/// How a process gets into an aggregate of process groups.
class GroupEntry {
 public:
  GroupEntry(const ProcFs& proc, GroupTable& table, ProcessGroup::Signalling signalling)
      : proc_(proc), table_(table), signalling_(signalling) {}

  /// Moves `pid` into a group that can be held, if it is in none yet, and adds that group. On
  /// failure the process is where it was.
  /// @return as ProcessAggregate::add.
  [[nodiscard]] Result<> admit(ContainerId id, pid_t pid, const StepDescriptor& step);

 private:
  [[nodiscard]] Result<> try_group(ContainerId id, const ProcStat& process, pid_t target);

  const ProcFs& proc_;
  GroupTable& table_;
  ProcessGroup::Signalling signalling_;
};

}  // namespace hal::linux_host
