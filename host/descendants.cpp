// SPDX-License-Identifier: BSD-3-Clause
#include "host/descendants.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <poll.h>
#include <set>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unordered_map>

#include "hal/vendor_library.h"

namespace hal::host {
namespace {

using Milliseconds = std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

int open_pidfd(pid_t pid) { return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)); }

int signal_pidfd(int fd, int signal) {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, fd, signal, nullptr, 0));
}

/// The number that `text` starts with; 0: none.
template <class Number>
Number leading_number(std::string_view text) {
  Number value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::uint64_t field_number(std::string_view fields, int index) {
  for (int skipped = 0; skipped < index; ++skipped) {
    const auto blank = fields.find(' ');
    if (blank == std::string_view::npos) return 0;
    fields.remove_prefix(blank + 1);
  }
  return leading_number<std::uint64_t>(fields);
}

std::vector<ProcessFacts> all_processes() {
  std::vector<ProcessFacts> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> proc(::opendir("/proc"), ::closedir);
  if (!proc) return all;
  while (const dirent* entry = ::readdir(proc.get())) {
    const auto pid = leading_number<pid_t>(entry->d_name);
    if (pid <= 0) continue;
    if (auto facts = process_facts(pid)) all.push_back(*facts);
  }
  return all;
}

/// Everyone below the caller, parents first, without the spared subtrees.
std::vector<ProcessFacts> descendants(std::span<const pid_t> spared) {
  std::unordered_multimap<pid_t, ProcessFacts> children;
  for (const auto& facts : all_processes()) children.emplace(facts.parent, facts);
  std::vector<ProcessFacts> found;
  std::vector<pid_t> parents{::getpid()};
  while (!parents.empty()) {
    const pid_t parent = parents.back();
    parents.pop_back();
    const auto [first, last] = children.equal_range(parent);
    for (auto child = first; child != last; ++child) {
      if (std::ranges::find(spared, child->first == ::getpid() ? child->second.pid : 0) !=
          spared.end()) {
        continue;
      }
      found.push_back(child->second);
      parents.push_back(child->second.pid);
    }
  }
  return found;
}

/// Nothing else can have got the number of a process that has not been reaped; for a process of
/// somebody else's the descriptor pins it and the start time tells whether it is the one.
void kill_one(const ProcessFacts& facts) {
  const UniqueFd fd(open_pidfd(facts.pid));
  if (!fd) return;
  const auto now = process_facts(facts.pid);
  if (now && now->start_time == facts.start_time) (void)signal_pidfd(fd.get(), SIGKILL);
}

/// Reaps what can be; true while children outside `spared` are left.
bool reap(std::span<const pid_t> spared, const Reaped& reaped) {
  if (spared.empty()) {
    while (true) {
      int status = 0;
      const pid_t pid = ::waitpid(-1, &status, WNOHANG);
      if (pid > 0) {
        reaped(pid, status);
        continue;
      }
      if (pid < 0 && errno == EINTR) continue;
      return pid == 0;
    }
  }
  bool others = false;
  for (const auto& facts : descendants(spared)) {
    int status = 0;
    if (facts.parent == ::getpid() && ::waitpid(facts.pid, &status, WNOHANG) == facts.pid) {
      reaped(facts.pid, status);
    } else {
      others = true;
    }
  }
  return others;
}

}  // namespace

std::optional<ProcessFacts> process_facts(pid_t pid) {
  char path[32] = "/proc/";
  auto* end = std::to_chars(path + 6, path + 20, pid).ptr;
  std::memcpy(end, "/stat", 6);
  const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
  if (!fd) return std::nullopt;
  char text[1024];
  const ssize_t size = ::read(fd.get(), text, sizeof text);
  if (size <= 0) return std::nullopt;
  std::string_view line(text, static_cast<std::size_t>(size));
  // The name may hold anything, so the fields are counted from its last bracket.
  const auto bracket = line.rfind(')');
  if (bracket == std::string_view::npos || bracket + 4 > line.size()) return std::nullopt;
  line.remove_prefix(bracket + 2);
  return ProcessFacts{.pid = pid,
                      .parent = static_cast<pid_t>(field_number(line, 1)),
                      .state = line.front(),
                      .thread_count = static_cast<std::uint32_t>(field_number(line, 17)),
                      .start_time = field_number(line, 19)};
}

std::string boot_id() {
  const UniqueFd fd(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t size = fd ? ::read(fd.get(), text, sizeof text) : -1;
  if (size <= 0) return {};
  return {text, static_cast<std::size_t>(size) - (text[size - 1] == '\n' ? 1 : 0)};
}

bool is_alive(pid_t pid, std::uint64_t start_time) {
  const auto facts = process_facts(pid);
  return facts && facts->start_time == start_time && !facts->dead();
}

bool kill_process(pid_t pid, std::uint64_t start_time, Milliseconds limit) {
  const UniqueFd fd(open_pidfd(pid));
  if (!fd || !is_alive(pid, start_time)) return true;
  if (signal_pidfd(fd.get(), SIGKILL) != 0 && errno != ESRCH) return false;
  pollfd gone{.fd = fd.get(), .events = POLLIN, .revents = 0};
  return ::poll(&gone, 1, static_cast<int>(limit.count())) > 0 || !is_alive(pid, start_time);
}

bool wait_for_end(pid_t pid, std::uint64_t start_time, Milliseconds limit) {
  const UniqueFd fd(open_pidfd(pid));
  if (!fd || !is_alive(pid, start_time)) return true;
  pollfd gone{.fd = fd.get(), .events = POLLIN, .revents = 0};
  const auto most = std::max<std::int64_t>(limit.count(), 0);
  return ::poll(&gone, 1, static_cast<int>(most)) > 0 || !is_alive(pid, start_time);
}

std::vector<ProcessFacts> children() {
  const UniqueFd fd(::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC));
  std::vector<ProcessFacts> found;
  if (!fd) {  // a kernel without this file
    for (const auto& facts : all_processes()) {
      if (facts.parent == ::getpid()) found.push_back(facts);
    }
    return found;
  }
  std::string text;
  std::array<char, 4096> block;
  for (ssize_t size; (size = ::read(fd.get(), block.data(), block.size())) > 0;) {
    text.append(block.data(), static_cast<std::size_t>(size));
  }
  for (std::string_view rest = text; !rest.empty();) {
    if (const auto facts = process_facts(leading_number<pid_t>(rest))) found.push_back(*facts);
    const auto blank = rest.find(' ');
    rest.remove_prefix(blank == std::string_view::npos ? rest.size() : blank + 1);
  }
  return found;
}

std::optional<EndedChild> reap_child() {
  EndedChild child;
  do {
    child.pid = ::wait4(-1, &child.wait_status, WNOHANG, &child.usage);
  } while (child.pid < 0 && errno == EINTR);
  if (child.pid <= 0) return std::nullopt;
  return child;
}

Result<> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) {
    return fail_errno(errno, "prctl(PR_SET_CHILD_SUBREAPER)");
  }
  return {};
}

void kill_descendants(pid_t spared, std::span<const pid_t> helpers) {
  for (const auto& facts : descendants(helpers)) {
    if (facts.pid != spared && !facts.dead()) kill_one(facts);
  }
}

SweepResult sweep_descendants(std::span<const pid_t> spared, Milliseconds limit,
                              const Reaped& reaped) {
  SweepResult result;
  std::set<std::pair<pid_t, std::uint64_t>> seen;
  const auto deadline = SteadyClock::now() + limit;
  auto pause = Milliseconds(1);
  while (reap(spared, reaped)) {
    const auto present = descendants(spared);
    std::uint32_t living = 0;
    for (const auto& facts : present) {
      if (facts.dead()) continue;
      ++living;
      if (seen.emplace(facts.pid, facts.start_time).second) ++result.found;
      kill_one(facts);
    }
    if (SteadyClock::now() >= deadline) {
      result.survivors = living;
      return result;
    }
    ::poll(nullptr, 0, static_cast<int>(pause.count()));
    pause = std::min(pause * 2, Milliseconds(100));
  }
  return result;
}

}  // namespace hal::host
