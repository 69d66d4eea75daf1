// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/process_group.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <set>
#include <string>
#include <unistd.h>
#include <utility>

#include "backends/linux/process.h"

namespace hal::linux_host {
namespace {

/// The group of `pid`, or -1. A security module may hide it from the system call but not from
/// /proc.
pid_t group_of(const ProcFs& proc, pid_t pid) noexcept {
  const pid_t group = ::getpgid(pid);
  if (group >= 0 || errno == ESRCH) return group;
  const auto stat = proc.find(pid);
  return stat ? stat->group : -1;
}

}  // namespace

Result<std::shared_ptr<const ProcessGroup>> ProcessGroup::of_member(const ProcFs& proc,
                                                                    pid_t member,
                                                                    Signalling signalling) {
  const pid_t number = group_of(proc, member);
  const std::string what = "process group " + std::to_string(number);
  if (number < 0) {
    return fail_errno(ESRCH, "look up the group of process " + std::to_string(member));
  }
  UniqueFd leader = open_pidfd(number);
  if (!leader) return fail_errno(errno, "refer to the leader of " + what);
  auto stat = proc.stat(number);
  if (!stat) return propagate(with_context(std::move(stat), what));

  const int probe = send_group_signal(leader, 0);
  const bool by_reference = signalling == Signalling::automatic && probe != EINVAL;
  auto group = std::make_shared<const ProcessGroup>(std::move(leader), *stat, by_reference);
  // The member held the number before and holds it after the leader was opened, so both are one.
  if (group_of(proc, member) != number || !group->holds_number()) {
    return fail(Errc::busy, EAGAIN, what + " changed while it was looked at: try again");
  }
  return group;
}

bool ProcessGroup::leader_exists() const noexcept { return send_signal(leader_, 0) != ESRCH; }

bool ProcessGroup::holds_number() const noexcept {
  if (leader_exists()) return true;
  if (by_reference_) return send_group_signal(leader_, 0) != ESRCH;
  // A living group keeps its number from becoming a process again.
  const bool reused = ::kill(number_, 0) == 0 || errno != ESRCH;
  return !reused && (::killpg(number_, 0) == 0 || errno != ESRCH);
}

bool ProcessGroup::accepts(const ProcFs& proc, pid_t member) const noexcept {
  if (by_reference_ || leader_exists()) return true;
  const auto stat = proc.find(member);
  return stat && stat->group == number_ && stat->session == session_ &&
         stat->start_ticks >= start_ticks_;
}

bool ProcessGroup::leader_lives() const noexcept {
  return !has_exited(leader_) && ::getpgid(number_) == number_;
}

int ProcessGroup::signal(int signal_number) const noexcept {
  if (::getpgrp() == number_) return EAGAIN;
  if (by_reference_) return send_group_signal(leader_, signal_number);
  if (!leader_exists()) return EAGAIN;
  return ::killpg(number_, signal_number) == 0 ? 0 : errno;
}

namespace {

/// Calls `handle(pid, group)` for each process whose group number is one of `groups`, while it
/// answers 0; another answer is the errno to end with, or kEnough.
constexpr int kEnough = -1;

template <class Handle>
Result<> each_candidate(const ProcFs& proc, const ProcessGroups& groups, const Handle& handle) {
  ProcessGroups present;
  std::copy_if(groups.begin(), groups.end(), std::back_inserter(present),
               [](const auto& group) { return group->holds_number(); });
  if (present.empty()) return {};

  PidScan scan(proc);
  while (const pid_t pid = scan.next()) {
    const pid_t number = group_of(proc, pid);
    const auto group = std::find_if(present.begin(), present.end(),
                                    [number](const auto& one) { return one->number() == number; });
    if (group == present.end()) continue;
    const int answer = handle(pid, **group);
    if (answer == kEnough) return {};
    if (answer != 0) return fail_errno(answer, "refer to process " + std::to_string(pid));
  }
  if (scan.error() != 0) return fail_errno(scan.error(), "list the processes of the node");
  return {};
}

/// A reference to a live member, or an invalid one with 0 or an errno value.
std::pair<UniqueFd, int> open_member(const ProcFs& proc, pid_t pid, const ProcessGroup& group) {
  UniqueFd process = open_pidfd(pid);
  if (!process) return {UniqueFd(), errno == ESRCH ? 0 : errno};
  const bool live = group_of(proc, pid) == group.number() && !has_exited(process);
  if (!live || !group.accepts(proc, pid)) return {UniqueFd(), 0};
  return {std::move(process), 0};
}

}  // namespace

Result<> visit_live_members(const ProcFs& proc, const ProcessGroups& groups,
                            const std::function<bool(LiveMember)>& visit) {
  return each_candidate(proc, groups, [&](pid_t pid, const ProcessGroup& group) {
    auto [process, error] = open_member(proc, pid, group);
    if (!process) return error;
    return visit({pid, group, std::move(process)}) ? 0 : kEnough;
  });
}

Result<std::vector<pid_t>> list_live_members(const ProcFs& proc, const ProcessGroups& groups) {
  std::vector<std::pair<pid_t, const ProcessGroup*>> seen;
  auto scan = each_candidate(proc, groups, [&](pid_t pid, const ProcessGroup& group) {
    if (const auto runs = child_runs(pid)) {
      const bool member = *runs && group_of(proc, pid) == group.number();
      if (member && group.accepts(proc, pid)) seen.emplace_back(pid, &group);
      return 0;
    }
    const auto [process, error] = open_member(proc, pid, group);
    if (process) seen.emplace_back(pid, &group);
    return error;
  });
  if (!scan) return propagate(std::move(scan));

  // A group that lost its number during the pass may have lent it to a stranger.
  std::set<const ProcessGroup*> lost;
  for (const auto& group : groups) {
    if (!group->holds_number()) lost.insert(group.get());
  }
  std::vector<pid_t> result;
  result.reserve(seen.size());
  for (const auto& [pid, group] : seen) {
    if (!lost.contains(group)) result.push_back(pid);
  }
  return result;
}

}  // namespace hal::linux_host
