// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/elan/programs.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <unistd.h>
#include <utility>

namespace backplane_mock {
namespace {

thread_local int pending_self_signal = 0;

bool may_signal(const Program& program) { return caller_uid() == 0 || caller_uid() == program.uid; }

void send_to_members(const ElanState& state, std::uint32_t slot, int signal_number) {
  for (const Member& member : members_of(state, slot)) {
    if (member.pid == ::getpid()) {
      pending_self_signal = signal_number;
    } else {
      ::kill(member.pid, signal_number);
    }
  }
}

// Kills until a look finds nobody new: a fork in between is killed at birth.
void kill_members(const ElanState& state, std::uint32_t slot) {
  std::vector<pid_t> seen;
  for (bool fresh = true; fresh;) {
    fresh = false;
    for (const Member& member : members_of(state, slot)) {
      if (std::find(seen.begin(), seen.end(), member.pid) != seen.end()) continue;
      fresh = true;
      seen.push_back(member.pid);
      if (member.pid == ::getpid()) {
        pending_self_signal = SIGKILL;
      } else {
        ::kill(member.pid, SIGKILL);
      }
    }
  }
}

bool swallowed(ElanState& state, int signal_number) {
  const std::uint32_t option = signal_number == SIGTERM ? kIgnoreTerm : kIgnoreKill;
  if (signal_number != SIGTERM && signal_number != SIGKILL) return false;
  if (state.options[option] <= 0) return false;
  --state.options[option];
  return true;
}

}  // namespace

int find_program(const ElanState& state, int id) {
  const int node = caller_node(state);
  for (std::size_t i = 0; i < kMaxPrograms; ++i) {
    const Program& p = state.programs[i];
    if (p.used != 0 && p.id == id && p.node == node) return static_cast<int>(i);
  }
  return -1;
}

// Slot of the caller's own program, or -1.
int own_program(const ElanState& state, Mark& mark) {
  const std::optional<Mark> found = mark_of(state, 0);
  if (!found) return -1;
  mark = *found;
  return program_of(state, mark);
}

ProgramCap* find_cap(ElanState& state, int slot, int index) {
  ProgramCap* newest = nullptr;
  for (ProgramCap& cap : state.program_caps) {
    if (cap.used == 0 || cap.slot != static_cast<std::uint32_t>(slot) || cap.index != index)
      continue;
    if (newest == nullptr || cap.order > newest->order) newest = &cap;
  }
  return newest;
}

Flavour flavour_of(const ElanState& state, const std::uint32_t* key) {
  const std::int64_t forced = state.options[kRmsFlavour];
  if (forced != 0) return forced == 2 ? Flavour::elan3 : Flavour::elanctrl;
  for (const Capability& c : state.capabilities) {
    if (c.used != 0 && std::memcmp(c.geometry.key, key, sizeof c.geometry.key) == 0) {
      return c.flavour;
    }
  }
  return Flavour::elanctrl;
}

std::size_t size_of(Flavour flavour) {
  return flavour == Flavour::elan3 ? sizeof(ELAN3_CAPABILITY) : sizeof(ELAN_CAPABILITY);
}

// Bytes that rms_getcap writes: the header and the used words of the bitmap.
std::size_t used_size(const ProgramCap& cap) {
  const ELAN_CAPABILITY& c = cap.capability;
  const std::int64_t slots = (std::int64_t{c.cap_highnode} - c.cap_lownode + 1) *
                             (std::int64_t{c.cap_highcontext} - c.cap_lowcontext + 1);
  const std::size_t header = cap.flavour == Flavour::elan3 ? offsetof(ELAN3_CAPABILITY, cap_bitmap)
                                                           : offsetof(ELAN_CAPABILITY, cap_bitmap);
  if ((c.cap_type & kTypeNoBitmap) != 0 || slots <= 0) return header;
  const auto words = static_cast<std::size_t>((slots + 31) / 32);
  return std::min(header + words * 4, size_of(cap.flavour));
}

int create_program(ElanState& state, int id, uid_t uid, int cpus) {
  if (caller_uid() != 0) return EACCES;
  if (id <= 0 || find_program(state, id) >= 0) return EINVAL;
  const int node = caller_node(state);
  const auto live = std::count_if(std::begin(state.programs), std::end(state.programs),
                                  [&](const Program& p) { return p.used != 0 && p.node == node; });
  if (live >= state.options[kMaxProgramsOption]) return ENOMEM;
  auto* free_entry = std::find_if(std::begin(state.programs), std::end(state.programs),
                                  [](const Program& p) { return p.used == 0; });
  if (free_entry == std::end(state.programs)) return ENOMEM;
  Mark outer;
  const int parent = own_program(state, outer);
  Program program{};
  program.used = 1;
  program.generation = state.generation++;
  program.node = node;
  program.id = id;
  program.uid = uid;
  program.cpus = cpus;
  program.parent = parent;
  program.parent_generation = parent < 0 ? 0 : state.programs[parent].generation;
  program.root_pid = ::getpid();
  program.root_start = running_since(::getpid()).value_or(0);
  program.order = state.next_order++;
  const auto slot = static_cast<std::uint32_t>(free_entry - std::begin(state.programs));
  if (const int error = mark_self(state, {slot, program.generation & 0x1FFFU})) return error;
  *free_entry = program;
  return 0;
}

int destroy_program(ElanState& state, int id) {
  if (caller_uid() != 0) return EACCES;
  const int slot = find_program(state, id);
  if (slot < 0) return static_cast<int>(state.options[kUnknownProgramErrno]);
  Program& program = state.programs[slot];
  if (!members_of(state, static_cast<std::uint32_t>(slot)).empty()) return ECHILD;
  reap_segment(state, program.id, program.root_pid);
  state.buried[state.buried_count++ % kMaxBuried] = {program.id, program.root_pid};
  for (ProgramCap& cap : state.program_caps) {
    if (cap.slot == static_cast<std::uint32_t>(slot)) cap.used = 0;
  }
  program.used = 0;
  return 0;
}

int signal_program(ElanState& state, int id, int signal_number) {
  const int slot = find_program(state, id);
  if (slot < 0) return ESRCH;
  Program& program = state.programs[slot];
  if (!may_signal(program)) return EACCES;
  const bool exists = signal_number >= 0 && signal_number <= SIGRTMAX;
  if (!exists) return state.options[kSignalRangeCheck] != 0 ? EINVAL : 0;
  if (signal_number == SIGKILL) program.killed = 1;
  if (swallowed(state, signal_number)) return 0;
  if (signal_number == SIGKILL) {
    kill_members(state, static_cast<std::uint32_t>(slot));
  } else {
    send_to_members(state, static_cast<std::uint32_t>(slot), signal_number);
  }
  return 0;
}

int list_members(ElanState& state, int id, int max, pid_t* pids, int* count) {
  const int slot = find_program(state, id);
  if (slot < 0) return ESRCH;
  const std::vector<Member> members = members_of(state, static_cast<std::uint32_t>(slot));
  const int found = static_cast<int>(members.size());
  if (found > max && state.options[kShortPrginfoEinval] != 0) return EINVAL;
  if (count == nullptr || (pids == nullptr && max > 0)) return EFAULT;
  for (int i = 0; i < std::min(found, max); ++i) pids[i] = members[static_cast<std::size_t>(i)].pid;
  *count = found;
  return 0;
}

int stop_program(ElanState& state, int id, bool stop) {
  const int slot = find_program(state, id);
  if (slot < 0) return ESRCH;
  Program& program = state.programs[slot];
  if (!may_signal(program)) return EACCES;
  program.suspended = stop ? 1 : 0;
  send_to_members(state, static_cast<std::uint32_t>(slot), stop ? SIGSTOP : SIGCONT);
  return 0;
}

void send_pending_signal() {
  const int signal_number = std::exchange(pending_self_signal, 0);
  if (signal_number != 0) ::kill(::getpid(), signal_number);
}

}  // namespace backplane_mock
