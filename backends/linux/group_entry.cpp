// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/group_entry.h"

#include <array>
#include <cerrno>
#include <string>
#include <unistd.h>

#include "backends/linux/process.h"

namespace hal::linux_host {
namespace {

std::string spell(pid_t pid) { return "process " + std::to_string(pid); }

Failure refuse(std::string detail) {
  return fail(Errc::invalid_argument, EINVAL, std::move(detail));
}

/// A process that an aggregate may hold at all, as it is now.
Result<ProcStat> examine(const ProcFs& proc, pid_t pid, const StepDescriptor& step) {
  if (pid <= 0) return refuse("no process has the number " + std::to_string(pid));
  if (pid == 1) return fail(Errc::no_permission, EPERM, "process 1 belongs to the system");
  if (pid == ::getpid()) return refuse(spell(pid) + " is the caller itself");
  if (pid == step.manager_pid) return refuse(spell(pid) + " is the manager of the step");

  const UniqueFd process = open_pidfd(pid);
  if (!process && (errno == EINVAL || errno == ENOENT)) {
    return refuse(std::to_string(pid) + " is a thread: add the process that it belongs to");
  }
  if (!process) return fail_errno(errno, "refer to " + spell(pid));
  auto stat = proc.stat(pid);
  if (!stat) return stat;
  if (stat->is_kernel_thread()) return refuse(spell(pid) + " is a kernel thread");
  if (stat->is_dead()) return fail(Errc::not_found, ESRCH, spell(pid) + " has ended");
  if (const int error = send_signal(process, 0); error != 0) {
    return fail_errno(error, "signal " + spell(pid));
  }
  return stat;
}

/// Brings a process back to its former group unless told that it may stay.
class Move {
 public:
  Move(pid_t pid, pid_t from) : pid_(pid), from_(from) {}
  Move(const Move&) = delete;
  Move& operator=(const Move&) = delete;
  ~Move() {
    if (moved_) ::setpgid(pid_, from_);
  }

  [[nodiscard]] Result<> to(pid_t group) {
    if (group == from_) return {};
    if (::setpgid(pid_, group) != 0) {
      return fail_errno(errno, "move it into group " + std::to_string(group));
    }
    moved_ = true;
    return {};
  }
  void keep() noexcept { moved_ = false; }

 private:
  pid_t pid_;
  pid_t from_;
  bool moved_ = false;
};

Result<> check_step_group(const StepDescriptor& step) {
  const pid_t group = step.process_group;
  if (group == 0) return {};
  const std::string what = "process group " + std::to_string(group) + " of the step's record ";
  if (group <= 1) return refuse(what + "cannot be a step's");
  if (group == ::getpgrp() || (step.manager_pid > 0 && group == ::getpgid(step.manager_pid))) {
    return refuse(what + "is the manager's own: give the first task a group of its own first");
  }
  return {};
}

}  // namespace

Result<> GroupEntry::try_group(ContainerId id, const ProcStat& process, pid_t target) {
  if (const auto owner = table_.owner_of(target); owner && owner->id != id) {
    return fail(Errc::busy, EBUSY,
                "process group " + std::to_string(target) + " is in aggregate " +
                    std::to_string(to_number(owner->id)) + " already");
  }
  Move move(process.pid, process.group);
  if (auto moved = move.to(target); !moved) return moved;
  auto group = ProcessGroup::of_member(proc_, process.pid, signalling_);
  if (!group) return propagate(std::move(group));
  if ((*group)->number() != target)
    return fail(Errc::busy, EBUSY, "it changed its group meanwhile");
  auto inserted = table_.insert(id, std::move(*group));
  if (inserted) move.keep();
  return inserted;
}

Result<> GroupEntry::admit(ContainerId id, pid_t pid, const StepDescriptor& step) {
  auto process = examine(proc_, pid, step);
  if (!process) return propagate(std::move(process));
  if (const auto owner = table_.owner_of(process->group)) {
    if (owner->id == id) return {};
    return fail(Errc::busy, EBUSY,
                spell(pid) + " is in aggregate " + std::to_string(to_number(owner->id)) +
                    " already: destroy that one first");
  }
  if (auto usable = check_step_group(step); !usable) return usable;

  std::string reasons;
  for (const pid_t target : std::array{step.process_group, pid}) {
    if (target == 0) continue;
    auto admitted = try_group(id, *process, target);
    if (admitted) return {};
    const auto kind = admitted.error().kind;
    if (kind == Errc::busy || kind == Errc::exhausted) return admitted;
    reasons += (reasons.empty() ? "" : "; ") + admitted.error().detail;
  }
  // Another thread may have destroyed or killed the aggregate, or the process may have ended.
  if (auto open = table_.require_open(id); !open) return open;
  const auto now = proc_.find(pid);
  if (!now || now->is_dead() || now->start_ticks != process->start_ticks) {
    return fail(Errc::not_found, ESRCH, spell(pid) + " has ended");
  }
  return refuse(spell(pid) + " is in group " + std::to_string(process->group) +
                ", which is not its own, and cannot be moved (" + reasons +
                "): add it before it calls exec, or start it as the leader of a group");
}

}  // namespace hal::linux_host
