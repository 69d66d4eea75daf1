// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>

#include "backends/linux/fork_guard.h"
#include "backends/linux/process_group.h"
#include "hal/result.h"
#include "hal/types.h"

namespace hal::linux_host {

/// Aggregates and the process groups in each. Ids are serial numbers from a random start above any
/// process number, so an id is good for nothing but a look-up here. Thread and fork safe.
class GroupTable {
 public:
  struct Owner {
    ContainerId id;
    std::shared_ptr<const ProcessGroup> group;
  };

  GroupTable();

  [[nodiscard]] ContainerId create();

  /// @return not_found: unknown id.
  [[nodiscard]] Result<ProcessGroups> groups(ContainerId id) const;

  /// As `groups`, and refuses `insert` from now on, for a kill must not race with newcomers.
  [[nodiscard]] Result<ProcessGroups> close(ContainerId id);

  /// Adds `group`; again is success.
  /// @return not_found: unknown id; busy: closed, or the group is in another aggregate.
  [[nodiscard]] Result<> insert(ContainerId id, std::shared_ptr<const ProcessGroup> group);

  /// Checks that `insert` may succeed. @return as `insert`.
  [[nodiscard]] Result<> require_open(ContainerId id) const;

  /// The aggregate that holds the living group of that number.
  [[nodiscard]] std::optional<Owner> owner_of(pid_t group_number) const;

  /// Forgets the aggregate; again is success.
  /// @return not_found: never handed out.
  [[nodiscard]] Result<> destroy(ContainerId id);

 private:
  struct Aggregate {
    ProcessGroups groups;
    std::size_t sweep_at = 16;
    bool closed = false;
  };

  [[nodiscard]] Result<> check_open(ContainerId id) const;
  void forget_gone_groups(Aggregate& aggregate);

  mutable ForkSafeMutex mutex_;
  const std::uint64_t first_;
  std::uint64_t issued_ = 0;
  std::unordered_map<std::uint64_t, Aggregate> aggregates_;
  std::unordered_map<pid_t, Owner> owners_;
};

}  // namespace hal::linux_host
