// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/elan/membership.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <sys/shm.h>
#include <unistd.h>

namespace backplane_mock {
namespace {

// 4 bits magic, 20 identity, 11 slot, 13 generation, 4 index, 12 context
constexpr std::uint64_t kMarkMagic = 0x4;
constexpr std::uint32_t kIdentityMask = 0xFFFFF;
constexpr std::uint32_t kGenerationMask = 0x1FFF;
constexpr int kMaxNesting = 16;
static_assert(kMaxPrograms == 1U << 11);

std::uint64_t encode(const ElanState& state, const Mark& mark) {
  return kMarkMagic << 60U | std::uint64_t{state.core.identity & kIdentityMask} << 40U |
         std::uint64_t{mark.slot} << 29U | std::uint64_t{mark.generation & kGenerationMask} << 16U |
         (static_cast<std::uint64_t>(mark.index) & 0xFU) << 12U |
         (static_cast<std::uint64_t>(mark.context) & 0xFFFU);
}

std::optional<Mark> decode(const ElanState& state, std::uint64_t value) {
  if (value >> 60U != kMarkMagic ||
      (value >> 40U & kIdentityMask) != (state.core.identity & kIdentityMask)) {
    return std::nullopt;
  }
  Mark mark;
  mark.slot = static_cast<std::uint32_t>(value >> 29U & 0x7FFU);
  mark.generation = static_cast<std::uint32_t>(value >> 16U & kGenerationMask);
  const int index = static_cast<int>(value >> 12U & 0xFU);
  const int context = static_cast<int>(value & 0xFFFU);
  mark.index = index > kMaxCapIndex ? kNoIndex : index;
  mark.context = context > kMaxCapContext ? kNoContext : context;
  return mark;
}

// Reads a small file of /proc; empty if it is not there.
std::string read_proc(pid_t pid, const char* name) {
  std::array<char, 4096> buffer{};
  (void)std::snprintf(buffer.data(), buffer.size(), "/proc/%d/%s", static_cast<int>(pid), name);
  const int fd = ::open(buffer.data(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  const ssize_t got = ::read(fd, buffer.data(), buffer.size());
  ::close(fd);
  return got > 0 ? std::string(buffer.data(), static_cast<std::size_t>(got)) : std::string();
}

// Other users' limits: prlimit needs a privilege, the file does not.
std::uint64_t limit_from_file(pid_t pid) {
  const std::string text = read_proc(pid, "limits");
  const std::size_t line = text.find("Max realtime timeout");
  if (line == std::string::npos) return 0;
  const std::size_t digit = text.find_first_of("0123456789u", line + 20);
  return digit == std::string::npos ? 0 : std::strtoull(text.c_str() + digit, nullptr, 10);
}

std::uint64_t limit_of(pid_t pid) {
  rlimit limit{};
  if (::prlimit(pid, RLIMIT_RTTIME, nullptr, &limit) == 0) return limit.rlim_cur;
  return errno == EPERM ? limit_from_file(pid) : 0;
}

template <class Visit>
void for_each_process(Visit&& visit) {
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return;
  while (const dirent* entry = ::readdir(proc.get())) {
    const long pid = std::strtol(entry->d_name, nullptr, 10);
    if (pid > 0) visit(static_cast<pid_t>(pid));
  }
}

}  // namespace

std::optional<Mark> mark_of(const ElanState& state, pid_t pid) {
  return decode(state, limit_of(pid));
}

int mark_self(const ElanState& state, const Mark& mark) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_RTTIME, &limit) != 0) return ENOMEM;
  const std::uint64_t value = encode(state, mark);
  if (limit.rlim_max < value) limit.rlim_max = RLIM_INFINITY;  // allowed to root
  limit.rlim_cur = value;
  return ::setrlimit(RLIMIT_RTTIME, &limit) == 0 ? 0 : ENOMEM;
}

std::optional<std::uint64_t> running_since(pid_t pid) {
  const std::string text = read_proc(pid, "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return std::nullopt;
  const char* cursor = text.c_str() + name_end + 2;
  const char process_state = *cursor;
  std::array<std::uint64_t, 20> fields{};  // field 4 of the file on
  ++cursor;
  for (std::uint64_t& field : fields) {
    char* end = nullptr;
    field = static_cast<std::uint64_t>(std::strtoll(cursor, &end, 10));
    cursor = end;
  }
  const std::uint64_t threads = fields[16];
  const bool dead = process_state == 'X' || (process_state == 'Z' && threads <= 1);
  if (dead) return std::nullopt;
  return fields[18];
}

int program_of(const ElanState& state, const Mark& mark) {
  const Program& program = state.programs[mark.slot];
  const bool live = program.used != 0 && (program.generation & kGenerationMask) == mark.generation;
  return live ? static_cast<int>(mark.slot) : -1;
}

bool is_member(const ElanState& state, const Mark& mark, std::uint32_t slot) {
  int current = program_of(state, mark);
  for (int depth = 0; current >= 0 && depth < kMaxNesting; ++depth) {
    if (static_cast<std::uint32_t>(current) == slot) return true;
    const Program& program = state.programs[current];
    if (program.parent < 0 || program.parent >= static_cast<int>(kMaxPrograms)) return false;
    const Program& parent = state.programs[program.parent];
    current = parent.generation == program.parent_generation ? program.parent : -1;
  }
  return false;
}

std::vector<Member> members_of(const ElanState& state, std::uint32_t slot) {
  std::vector<Member> members;
  for_each_process([&](pid_t pid) {
    const std::optional<Mark> mark = mark_of(state, pid);
    if (!mark || !is_member(state, *mark, slot)) return;
    if (const auto start = running_since(pid)) members.push_back({pid, *start, *mark});
  });
  const Program& program = state.programs[slot];
  const auto is_root = [&](const Member& m) {
    return m.pid == program.root_pid && m.start == program.root_start;
  };
  std::sort(members.begin(), members.end(), [&](const Member& a, const Member& b) {
    if (is_root(a) != is_root(b)) return is_root(b);
    return a.start != b.start ? a.start > b.start : a.pid > b.pid;
  });
  return members;
}

std::vector<int> segments_of(std::int32_t key, pid_t creator) {
  std::vector<int> found;
  const std::unique_ptr<FILE, int (*)(FILE*)> table(std::fopen("/proc/sysvipc/shm", "re"),
                                                    std::fclose);
  if (!table) return found;
  std::array<char, 512> line{};
  while (std::fgets(line.data(), static_cast<int>(line.size()), table.get()) != nullptr) {
    std::istringstream columns(line.data());
    std::int32_t segment_key = 0;
    int id = 0;
    std::string permissions;
    std::string size;
    pid_t segment_creator = 0;
    if (columns >> segment_key >> id >> permissions >> size >> segment_creator &&
        segment_key == key && segment_creator == creator) {
      found.push_back(id);
    }
  }
  return found;
}

void reap_segment(const ElanState& state, std::int32_t program, pid_t creator) {
  if (state.options[kReapSegments] == 0 || running_since(creator)) return;
  for (const int id : segments_of(segment_key(program), creator)) {
    ::shmctl(id, IPC_RMID, nullptr);
  }
}

}  // namespace backplane_mock
