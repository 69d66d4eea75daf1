// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/pgid.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <string>
#include <unistd.h>

#include "backends/linux/exit_wait.h"
#include "backends/linux/group_entry.h"
#include "backends/linux/group_table.h"
#include "backends/linux/process.h"

namespace hal::linux_host {
namespace {

constexpr int kHighestSignal = 64;
constexpr int kMostSignalPasses = 16;

Failure no_member(ContainerId id) {
  return fail(Errc::not_found, ESRCH,
              "process aggregate " + std::to_string(to_number(id)) + " has no live member");
}

class PgidAggregate final : public ProcessAggregate {
 public:
  PgidAggregate(ProcFs proc, ProcessGroup::Signalling signalling, Clock& clock)
      : proc_(std::move(proc)), signalling_(signalling), clock_(clock) {}

  Result<ContainerId> create(const StepDescriptor&) override { return table_.create(); }
  Result<> add(ContainerId id, pid_t pid, const StepDescriptor& step) override;
  Result<> signal(ContainerId id, int signal_number) override;
  Result<> destroy(ContainerId id) override;
  ContainerId find(pid_t pid) override;
  Result<std::vector<pid_t>> pids(ContainerId id) override;
  Result<> wait_empty(ContainerId id, std::chrono::milliseconds limit) override;

  std::string_view weakness() const override {
    return "a process leaves with setsid or setpgid, and whatever joins a held group is in; before "
           "Linux 6.9 a group whose leader was reaped is known by session and start time only";
  }

 private:
  [[nodiscard]] Result<bool> has_live_member(const ProcessGroups& groups) const;
  [[nodiscard]] int deliver(const ProcessGroups& groups, int signal_number) const;
  [[nodiscard]] int deliver_to_members(const ProcessGroups& groups, int signal_number) const;

  const ProcFs proc_;
  const ProcessGroup::Signalling signalling_;
  Clock& clock_;
  GroupTable table_;
};

Result<> PgidAggregate::add(ContainerId id, pid_t pid, const StepDescriptor& step) {
  if (id == kNoContainer) {
    return fail(Errc::invalid_argument, EINVAL, "add before the aggregate of the step was created");
  }
  if (auto open = table_.require_open(id); !open) return open;
  return GroupEntry(proc_, table_, signalling_).admit(id, pid, step);
}

Result<bool> PgidAggregate::has_live_member(const ProcessGroups& groups) const {
  const pid_t self = ::getpid();
  const auto proven = [self](const auto& group) {
    return group->number() != self && group->leader_lives();
  };
  if (std::any_of(groups.begin(), groups.end(), proven)) return true;
  bool found = false;
  auto scan = visit_live_members(proc_, groups, [&](const LiveMember& member) {
    found = member.pid != self;
    return !found;
  });
  if (!scan) return propagate(std::move(scan));
  return found;
}

/// Sends to each member but the caller, and to what it forks meanwhile, once.
int PgidAggregate::deliver_to_members(const ProcessGroups& groups, int signal_number) const {
  std::set<pid_t> reached;
  int result = ESRCH;
  bool news = true;
  for (int pass = 0; news && pass < kMostSignalPasses; ++pass) {
    news = false;
    const auto scan = visit_live_members(proc_, groups, [&](const LiveMember& member) {
      if (member.pid == ::getpid() || !reached.insert(member.pid).second) return true;
      news = true;
      const int error = send_signal(member.process, signal_number);
      if (error == 0 || (error == EPERM && result == ESRCH)) result = error;
      return true;
    });
    if (!scan) return result == 0 ? 0 : scan.error().code;
  }
  return result;
}

/// 0 when at least one member got the signal, else the most telling errno.
int PgidAggregate::deliver(const ProcessGroups& groups, int signal_number) const {
  int result = ESRCH;
  for (const auto& group : groups) {
    if (!group->holds_number()) continue;
    int error = group->signal(signal_number);
    if (error == EAGAIN) error = deliver_to_members({group}, signal_number);
    if (error == 0 || (result != 0 && error != ESRCH)) result = error;
  }
  return result;
}

Result<> PgidAggregate::signal(ContainerId id, int signal_number) {
  if (signal_number < 0 || signal_number > kHighestSignal) {
    return fail(Errc::invalid_argument, EINVAL, "no signal " + std::to_string(signal_number));
  }
  auto groups = table_.groups(id);
  if (!groups) return propagate(std::move(groups));
  auto live = has_live_member(*groups);
  if (!live && signal_number == 0) return propagate(std::move(live));
  if (live && !*live) return no_member(id);
  if (signal_number == 0) return {};

  if (signal_number == SIGKILL) {
    groups = table_.close(id);
    if (!groups) return propagate(std::move(groups));
  }
  const int error = deliver(*groups, signal_number);
  if (error == 0) return {};
  if (error == ESRCH) return no_member(id);
  return fail_errno(error, "signal " + std::to_string(signal_number) + " to process aggregate " +
                               std::to_string(to_number(id)));
}

Result<> PgidAggregate::destroy(ContainerId id) {
  if (id == kNoContainer) return {};
  return table_.destroy(id);
}

ContainerId PgidAggregate::find(pid_t pid) {
  if (pid <= 0) return kNoContainer;
  const pid_t number = ::getpgid(pid);
  if (number <= 1) return kNoContainer;
  const auto owner = table_.owner_of(number);
  if (!owner) return kNoContainer;
  const UniqueFd process = open_pidfd(pid);
  if (!process || has_exited(process) || ::getpgid(pid) != number) return kNoContainer;
  return owner->group->accepts(proc_, pid) ? owner->id : kNoContainer;
}

Result<std::vector<pid_t>> PgidAggregate::pids(ContainerId id) {
  auto groups = table_.groups(id);
  if (!groups) return propagate(std::move(groups));
  return list_live_members(proc_, *groups);
}

Result<> PgidAggregate::wait_empty(ContainerId id, std::chrono::milliseconds limit) {
  if (to_number(id) <= 1) {
    return fail(Errc::invalid_argument, EINVAL,
                "no process aggregate has the id " + std::to_string(to_number(id)));
  }
  auto groups = table_.close(id);
  if (!groups) return propagate(std::move(groups));
  const auto kill = [&] { return deliver(*groups, SIGKILL); };
  const auto list = [&](ExitWait& wait) {
    return visit_live_members(proc_, *groups, [&wait](LiveMember member) {
      return member.pid == ::getpid() || wait.watch(member.pid, std::move(member.process));
    });
  };
  if (auto empty = kill_until_empty(proc_, clock_, limit, kill, list); !empty) {
    return with_context(std::move(empty), "process aggregate " + std::to_string(to_number(id)));
  }
  return table_.destroy(id);
}

}  // namespace

Result<std::unique_ptr<ProcessAggregate>> make_pgid_aggregate(const BackendContext& context) {
  const auto by_reference = context.config.get_flag("group_references", true);
  if (!by_reference) return Failure(by_reference.error());
  auto proc = ProcFs::open();
  if (!proc) return propagate(std::move(proc));
  if (auto own = proc->require_own_namespace(); !own) return propagate(std::move(own));
  if (!open_pidfd(::getpid())) {
    return fail(Errc::unsupported, errno,
                "process references (pidfd_open) are not available: proctrack/pgid needs Linux 5.3 "
                "or later and a system call filter that lets them through");
  }
  return std::make_unique<PgidAggregate>(
      std::move(*proc),
      *by_reference ? ProcessGroup::Signalling::automatic : ProcessGroup::Signalling::by_number,
      context.host.clock());
}

}  // namespace hal::linux_host
