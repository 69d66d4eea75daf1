// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/rms.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <unistd.h>

#include "backends/elan/backend.h"
#include "backends/elan/device.h"
#include "backends/elan/pidfd.h"

namespace hal::elan {
namespace {

constexpr std::size_t kMaxMembers = std::size_t{1} << 20;

std::string program_text(int program) { return "RMS program " + std::to_string(program); }

bool is_gone(int error_number) { return error_number == ESRCH || error_number == EEXIST; }

Failure still_busy(int program) {
  return fail(Errc::busy, kChildrenProgramDestroy,
              program_text(program) +
                  " still has members, which ignore SIGKILL: "
                  "look for processes that hang in the kernel");
}

/// SIGTERM once, SIGKILL after the grace; 0 in between.
class Escalation {
 public:
  Escalation(std::chrono::milliseconds grace, Clock& clock)
      : clock_(clock), kill_at_(clock.now() + grace), terminated_(grace.count() == 0) {}

  int next() {
    if (clock_.now() >= kill_at_) return SIGKILL;
    return std::exchange(terminated_, true) ? 0 : SIGTERM;
  }

 private:
  Clock& clock_;
  Clock::TimePoint kill_at_;
  bool terminated_;
};

/// Signals `pid` if it is a member still, by a reference that a new process of that pid has not.
void signal_member(const RmsApi& rms, int program, pid_t pid, int signal_number) {
  const UniqueFd process(open_pidfd(pid));
  int its_program = 0;
  if (rms.getprgid(pid, &its_program) != 0 || its_program != program) return;
  if (process) {
    signal_pidfd(process.get(), signal_number);
  } else {
    ::kill(pid, signal_number);  // a kernel without pidfd_open
  }
}

}  // namespace

Result<const RmsApi*> Rms::api() {
  auto loaded =
      load_library(library_, path_,
                   {&api_.init, &api_.fini, &api_.prgcreate, &api_.prgdestroy, &api_.prgaddcap,
                    &api_.setcap, &api_.getprgid, &api_.prginfo, &api_.prgids, &api_.prgsignal});
  if (!loaded) return propagate(std::move(loaded));
  if (pid_ != ::getpid()) {
    if (pid_ != 0) api_.fini();
    pid_ = 0;
    if (api_.init() < 0) return fail_errno(errno, "rmsmod_init (is the RMS module loaded?)");
    pid_ = ::getpid();
  }
  return &api_;
}

Result<const RmsSuspendApi*> Rms::suspend_api() {
  if (auto ready = api(); !ready) return propagate(std::move(ready));
  if (!library_.resolve({&suspend_.prgsuspend, &suspend_.prgresume})) {
    return fail(Errc::unsupported, ENOTSUP, path_ + ": this librmscall cannot suspend programs");
  }
  return &suspend_;
}

void Rms::close() noexcept {
  if (pid_ == ::getpid()) api_.fini();
  pid_ = 0;
}

Result<int> own_program(const RmsApi& rms) {
  int program = 0;
  if (rms.getprgid(0, &program) == 0) return program;
  if (errno == ESRCH) return 0;
  return fail_errno(errno, "rms_getprgid");
}

Result<std::vector<pid_t>> members_of(const RmsApi& rms, int program) {
  std::vector<pid_t> pids(64);
  while (true) {
    int count = 0;
    const int result = rms.prginfo(program, static_cast<int>(pids.size()), pids.data(), &count);
    if (result < 0 && is_gone(errno)) return std::vector<pid_t>();
    // Older modules refuse a short array, newer ones tell the full count.
    const bool is_short = result < 0 ? errno == EINVAL : std::cmp_greater(count, pids.size());
    if (is_short && pids.size() < kMaxMembers) {
      pids.resize(std::max(pids.size() * 2, static_cast<std::size_t>(std::max(count, 0))));
      continue;
    }
    if (result < 0) return fail_errno(errno, "rms_prginfo of " + program_text(program));
    pids.resize(std::min(pids.size(), static_cast<std::size_t>(std::max(count, 0))));
    return pids;
  }
}

Result<std::vector<int>> programs_of_node(const RmsApi& rms) {
  std::vector<int> programs(64);
  while (true) {
    int count = 0;
    if (rms.prgids(static_cast<int>(programs.size()), programs.data(), &count) != 0) {
      return fail_errno(errno, "rms_prgids");
    }
    const auto found = static_cast<std::size_t>(std::max(count, 0));
    if (found < programs.size() || programs.size() >= kMaxMembers) {
      programs.resize(std::min(found, programs.size()));
      return programs;
    }
    programs.resize(programs.size() * 2);
  }
}

Result<> destroy_program(const RmsApi& rms, int program, const EndPolicy& policy, Clock& clock) {
  Escalation escalation(policy.grace, clock);
  return retry_while_busy(policy.limit, clock, [&]() -> Result<> {
    if (rms.prgdestroy(program) == 0 || is_gone(errno)) return {};
    if (errno != ECHILD) return fail_errno(errno, "rms_prgdestroy of " + program_text(program));
    const int signal_number = escalation.next();
    if (signal_number != 0 && rms.prgsignal(program, signal_number) != 0 && !is_gone(errno)) {
      return fail_errno(errno, "rms_prgsignal of " + program_text(program));
    }
    return still_busy(program);
  });
}

Result<> end_other_members(const RmsApi& rms, int program, const EndPolicy& policy, Clock& clock) {
  Escalation escalation(policy.grace, clock);
  return retry_while_busy(policy.limit, clock, [&]() -> Result<> {
    auto members = members_of(rms, program);
    if (!members) return propagate(std::move(members));
    std::erase(*members, ::getpid());
    if (members->empty()) return {};
    if (const int signal_number = escalation.next(); signal_number != 0) {
      for (const pid_t pid : *members) signal_member(rms, program, pid, signal_number);
    }
    return still_busy(program);
  });
}

Result<> signal_other_members(const RmsApi& rms, int program, int signal_number) {
  auto members = members_of(rms, program);
  if (!members) return propagate(std::move(members));
  for (const pid_t pid : *members) {
    if (pid != ::getpid()) signal_member(rms, program, pid, signal_number);
  }
  return {};
}

}  // namespace hal::elan
