// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <sys/types.h>
#include <vector>

#include "backends/linux/procfs.h"
#include "hal/result.h"
#include "hal/vendor_library.h"

namespace hal::linux_host {

/// One process group, held by a reference to its leader so that a reused group number is never
/// taken for it. Immutable and thread safe; forking copies it.
class ProcessGroup {
 public:
  enum class Signalling {
    automatic,  ///< let the kernel address the group by reference where it can (Linux 6.9)
    by_number,  ///< as on older kernels: compare the leader first, then use the number
  };

  /// Refers to the group in which `member` is now; the leader must still exist, dead or alive.
  /// @return not_found: leader or member is gone; busy: the member moved meanwhile.
  [[nodiscard]] static Result<std::shared_ptr<const ProcessGroup>> of_member(const ProcFs& proc,
                                                                             pid_t member,
                                                                             Signalling signalling);

  [[nodiscard]] pid_t number() const noexcept { return number_; }

  /// The number still means this group: its leader exists, even unreaped, or it has members. Once
  /// false, nothing can join the group any more.
  [[nodiscard]] bool holds_number() const noexcept;

  /// A process that the leader's number would reach has the marks of this group's members. Asked
  /// after `holds_number`, about a process whose group number matches.
  [[nodiscard]] bool accepts(const ProcFs& proc, pid_t member) const noexcept;

  /// The leader itself lives and has not moved away: a cheap proof that the group has a member.
  [[nodiscard]] bool leader_lives() const noexcept;

  /// Signals the whole group in one step. 0 or an errno value; EAGAIN when only the members, one
  /// by one, can be addressed without risk: the caller is in the group, or the leader is gone on a
  /// kernel that needs the number.
  [[nodiscard]] int signal(int signal_number) const noexcept;

  ProcessGroup(UniqueFd leader, const ProcStat& leader_stat, bool by_reference)
      : leader_(std::move(leader)),
        number_(leader_stat.pid),
        session_(leader_stat.session),
        start_ticks_(leader_stat.start_ticks),
        by_reference_(by_reference) {}

 private:
  [[nodiscard]] bool leader_exists() const noexcept;

  UniqueFd leader_;
  pid_t number_;
  pid_t session_;
  std::uint64_t start_ticks_;
  bool by_reference_;
};

using ProcessGroups = std::vector<std::shared_ptr<const ProcessGroup>>;

/// One live process of a group, and a reference to it opened before its membership was checked.
struct LiveMember {
  pid_t pid;
  const ProcessGroup& group;
  UniqueFd process;
};

/// Visits every live member of `groups` once, the caller too; the visitor answers whether to go on.
/// @return exhausted: no descriptors left; else errno of reading the process tree.
[[nodiscard]] Result<> visit_live_members(const ProcFs& proc, const ProcessGroups& groups,
                                          const std::function<bool(LiveMember)>& visit);

/// The numbers of all live members, each once, the caller's too. A good deal faster than visiting.
/// @return as visit_live_members.
[[nodiscard]] Result<std::vector<pid_t>> list_live_members(const ProcFs& proc,
                                                           const ProcessGroups& groups);

}  // namespace hal::linux_host
