// SPDX-License-Identifier: BSD-3-Clause
// Becomes librmscall.so: RMS program descriptions with the rules of module version 5.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/mocks/elan/programs.h"
#include "tests/mocks/elan/traced.h"

using namespace backplane_mock;  // NOLINT(google-build-using-namespace): a library of C functions

namespace {

// The library's descriptor on its control file. A number that somebody else closed stays here, as
// in the vendor's library, until rmsmod_fini.
std::atomic<int> control_fd{-1};
std::atomic<ino_t> control_inode{0};

int open_control(const Mapping& mapping) {
  struct stat status {};
  const int fd = mapping.open_or_share();
  if (fd < 0) return EBADF;
  if (::fstat(fd, &status) != 0) return errno;
  control_inode = status.st_ino;
  control_fd = fd;
  return 0;
}

int check_control(const Mapping& mapping) {
  const int fd = control_fd;
  if (fd < 0) return open_control(mapping);
  if (mapping.is_mine(fd)) return 0;
  if (errno == EBADF) return EBADF;
  struct stat status {};
  if (::fstat(fd, &status) != 0 || status.st_ino != control_inode) return ENOTTY;
  ::close(fd);  // ours, of the state file that was named before
  return open_control(mapping);
}

template <class Body>
int rms_call(const char* function, const Arguments& arguments, Body&& body) {
  const auto result = static_cast<int>(
      traced({function, EBADF}, arguments, [&](ElanState& state, const Mapping& mapping) {
        const int error = check_control(mapping);
        return error != 0 ? error : body(state);
      }));
  const int error = errno;
  send_pending_signal();
  errno = error;
  return result;
}

// A fork inside a killed program ends at once. Runs in the child: takes no lock, maps nothing.
void end_if_killed() {
  for (const Mapping* m = Mapping::first(); m != nullptr; m = m->next()) {
    const auto& state = *reinterpret_cast<const ElanState*>(m->core());
    const std::optional<Mark> mark = mark_of(state, 0);
    const int slot = mark ? program_of(state, *mark) : -1;
    if (slot >= 0 && state.programs[slot].killed != 0) kill_caller();
  }
}

[[gnu::constructor]] void watch_forks() { ::pthread_atfork(nullptr, nullptr, end_if_killed); }

}  // namespace

extern "C" {

BACKPLANE_MOCK_EXPORT int rmsmod_init() {
  return static_cast<int>(
      traced({"rmsmod_init", EBADF}, Arguments(), [](ElanState&, const Mapping& mapping) {
        return mapping.is_mine(control_fd) ? 0 : open_control(mapping);
      }));
}

BACKPLANE_MOCK_EXPORT void rmsmod_fini() {
  traced({"rmsmod_fini", EBADF}, Arguments(), [](ElanState&, const Mapping& mapping) {
    const int fd = control_fd.exchange(-1);
    if (fd >= 0 && mapping.is_mine(fd)) ::close(fd);
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_prgcreate(int id, uid_t uid, int cpus) {
  return rms_call("rms_prgcreate", Arguments("id=%d uid=%u cpus=%d", id, uid, cpus),
                  [&](ElanState& state) { return create_program(state, id, uid, cpus); });
}

BACKPLANE_MOCK_EXPORT int rms_prgdestroy(int id) {
  return rms_call("rms_prgdestroy", Arguments("id=%d", id),
                  [&](ElanState& state) { return destroy_program(state, id); });
}

#ifndef BACKPLANE_MOCK_LACKS_RMS_PRGADDCAP
BACKPLANE_MOCK_EXPORT int rms_prgaddcap(int id, int index, void* cap) {
  return rms_call("rms_prgaddcap", Arguments("id=%d index=%d", id, index), [&](ElanState& state) {
    if (cap == nullptr) return EINVAL;
    if (state.options[kPrgaddcapRoot] != 0 && caller_uid() != 0) return EACCES;
    const int slot = find_program(state, id);
    if (slot < 0) return ESRCH;
    if (index < 0 || index > kMaxCapIndex) return ENOMEM;
    for (ProgramCap& entry : state.program_caps) {
      if (entry.used != 0) continue;
      entry = ProgramCap{};
      entry.flavour = flavour_of(state, static_cast<const ELAN_USERKEY*>(cap)->key_values);
      std::memcpy(&entry.capability, cap, size_of(entry.flavour));
      entry.slot = static_cast<std::uint32_t>(slot);
      entry.index = index;
      entry.order = state.next_order++;
      entry.used = 1;
      return 0;
    }
    return ENOMEM;
  });
}
#endif

BACKPLANE_MOCK_EXPORT int rms_setcap(int index, int context) {
  return rms_call("rms_setcap", Arguments("index=%d ctx=%d", index, context),
                  [&](ElanState& state) {
                    Mark mark;
                    const int slot = own_program(state, mark);
                    if (slot < 0) return ESRCH;
                    const ProgramCap* cap = find_cap(state, slot, index);
                    if (cap == nullptr) return EINVAL;
                    const int extra = state.options[kSetcapOffByOne] != 0 ? 1 : 0;
                    const int highest =
                        cap->capability.cap_highcontext - cap->capability.cap_lowcontext + extra;
                    if (context < 0 || context > std::min(highest, kMaxCapContext)) return EINVAL;
                    mark.index = index;
                    mark.context = context;
                    return mark_self(state, mark);
                  });
}

BACKPLANE_MOCK_EXPORT int rms_getcap(int index, void* cap) {
  return rms_call("rms_getcap", Arguments("index=%d", index), [&](ElanState& state) {
    Mark mark;
    const int slot = own_program(state, mark);
    if (slot < 0) return ESRCH;
    const ProgramCap* found = find_cap(state, slot, index);
    if (found == nullptr) return EINVAL;
    if (cap == nullptr) return EFAULT;
    std::memcpy(cap, &found->capability, used_size(*found));
    if (mark.context != kNoContext) {
      const std::int32_t mine = found->capability.cap_lowcontext + mark.context;
      std::memcpy(static_cast<char*>(cap) + offsetof(ELAN_CAPABILITY, cap_mycontext), &mine,
                  sizeof mine);
    }
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_ncaps(int* count) {
  return rms_call("rms_ncaps", Arguments(), [&](ElanState& state) {
    Mark mark;
    const int slot = own_program(state, mark);
    if (slot < 0) return ESRCH;
    if (count == nullptr) return EFAULT;
    *count = static_cast<int>(std::count_if(
        std::begin(state.program_caps), std::end(state.program_caps), [&](const ProgramCap& c) {
          return c.used != 0 && c.slot == static_cast<std::uint32_t>(slot);
        }));
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_mycap(int* index) {
  return rms_call("rms_mycap", Arguments(), [&](ElanState& state) {
    Mark mark;
    if (own_program(state, mark) < 0) return ESRCH;
    if (index == nullptr) return EFAULT;
    *index = mark.index;
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_getprgid(pid_t pid, int* id) {
  return rms_call("rms_getprgid", Arguments("pid=%d", pid), [&](ElanState& state) {
    if (pid < 0 || (pid != 0 && !running_since(pid))) return ESRCH;
    const std::optional<Mark> mark = mark_of(state, pid);
    const int slot = mark ? program_of(state, *mark) : -1;
    if (slot < 0 || (pid != 0 && state.programs[slot].node != caller_node(state))) return ESRCH;
    if (id == nullptr) return EFAULT;
    *id = state.programs[slot].id;
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_prginfo(int id, int max, pid_t* pids, int* count) {
  return rms_call("rms_prginfo", Arguments("id=%d max=%d", id, max),
                  [&](ElanState& state) { return list_members(state, id, max, pids, count); });
}

BACKPLANE_MOCK_EXPORT int rms_prgids(int max, int* ids, int* count) {
  return rms_call("rms_prgids", Arguments("max=%d", max), [&](ElanState& state) {
    if (max < 1) return EINVAL;
    if (ids == nullptr || count == nullptr) return EFAULT;
    const int node = caller_node(state);
    int written = 0;
    for (const Program& p : state.programs) {
      if (p.used != 0 && p.node == node && written < max) ids[written++] = p.id;
    }
    *count = written;
    return 0;
  });
}

BACKPLANE_MOCK_EXPORT int rms_prgsignal(int id, int signal_number) {
  return rms_call("rms_prgsignal", Arguments("id=%d sig=%d", id, signal_number),
                  [&](ElanState& state) { return signal_program(state, id, signal_number); });
}

BACKPLANE_MOCK_EXPORT int rms_prgsuspend(int id) {
  return rms_call("rms_prgsuspend", Arguments("id=%d", id),
                  [&](ElanState& state) { return stop_program(state, id, true); });
}

BACKPLANE_MOCK_EXPORT int rms_prgresume(int id) {
  return rms_call("rms_prgresume", Arguments("id=%d", id),
                  [&](ElanState& state) { return stop_program(state, id, false); });
}

}  // extern "C"
