// SPDX-License-Identifier: BSD-3-Clause
// The members of one process group on a node with a thousand processes: ours beside the plain way,
// which reads the stat file of every process there is.
#include <array>
#include <benchmark/benchmark.h>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "backends/linux/backend.h"
#include "bench/ratio_report.h"
#include "hal/process_aggregate.h"

namespace hal::bench {
namespace {

constexpr int kProcesses = 1000;

[[noreturn]] void give_up(const std::string& reason) {
  std::fprintf(stderr, "proc_scan_bench: %s\n", reason.c_str());
  std::exit(1);
}

class QuietHost final : public Host {
 public:
  void log(LogLevel, std::string_view) override {}
  std::string node_name() override { return "bench"; }
  Clock& clock() override { return system_clock(); }
};

/// A thousand sleeping processes, the first `members` of them in one group: children of the
/// measuring process as tasks are of a manager, or of another one as what tasks start.
class Crowd {
 public:
  Crowd(int members, bool own_children) {
    if (own_children) {
      fork_all(members);
      return;
    }
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) give_up("pipe2");
    const pid_t keeper = ::fork();
    if (keeper < 0) give_up("fork");
    if (keeper == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      fork_all(members);
      const pid_t group = pids_.front();
      if (::write(ends[1], &group, sizeof group) != sizeof group) ::_exit(1);
      while (true) ::pause();
    }
    pid_t group = 0;
    if (::read(ends[0], &group, sizeof group) != sizeof group) give_up("read");
    ::close(ends[0]);
    ::close(ends[1]);
    pids_ = {keeper};
    group_ = group;
  }
  ~Crowd() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);  // the keeper's children follow it
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] pid_t group() const { return group_; }

 private:
  void fork_all(int members) {
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) give_up(std::string("fork: ") + std::strerror(errno));
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (true) ::pause();
      }
      pids_.push_back(pid);
      const pid_t group = i < members ? pids_.front() : pids_[static_cast<std::size_t>(members)];
      if (::setpgid(pid, group) != 0) give_up("setpgid");
    }
    group_ = pids_.front();
  }

  std::vector<pid_t> pids_;
  pid_t group_ = 0;
};

/// Opens, reads and parses every stat file, as a tracker does that knows nothing better.
std::vector<pid_t> members_by_stat(pid_t wanted) {
  std::vector<pid_t> members;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) give_up("opendir /proc");
  while (const dirent* entry = ::readdir(directory.get())) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != '\0') continue;
    std::array<char, 64> path;
    std::snprintf(path.data(), path.size(), "/proc/%ld/stat", pid);
    const int fd = ::open(path.data(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) continue;
    std::array<char, 4096> text;
    const ssize_t size = ::read(fd, text.data(), text.size() - 1);
    ::close(fd);
    if (size <= 0) continue;
    text[static_cast<std::size_t>(size)] = '\0';
    const char* name_end = std::strrchr(text.data(), ')');
    char state = 0;
    long parent = 0;
    long group = 0;
    if (name_end == nullptr ||
        std::sscanf(name_end + 1, " %c %ld %ld", &state, &parent, &group) != 3) {
      continue;
    }
    if (group == wanted && state != 'Z') members.push_back(static_cast<pid_t>(pid));
  }
  return members;
}

void check(std::size_t found, std::int64_t members) {
  if (found != static_cast<std::size_t>(members)) give_up("a list is not the group");
}

void ours(benchmark::State& state, bool own_children) {
  static QuietHost host;
  const Crowd crowd(static_cast<int>(state.range(0)), own_children);
  const BackendConfig config;
  auto made = linux_host::pgid_backend.make_process_aggregate({.config = config, .host = host});
  if (!made) give_up(made.error().detail);
  StepDescriptor step;
  step.process_group = crowd.group();
  const auto id = (*made)->create(step);
  if (auto added = (*made)->add(*id, crowd.group(), step); !added) give_up(added.error().detail);
  check((*made)->pids(*id)->size(), state.range(0));

  for (auto _ : state) benchmark::DoNotOptimize((*made)->pids(*id)->data());
}

void stat_scan(benchmark::State& state, bool own_children) {
  const Crowd crowd(static_cast<int>(state.range(0)), own_children);
  check(members_by_stat(crowd.group()).size(), state.range(0));

  for (auto _ : state) benchmark::DoNotOptimize(members_by_stat(crowd.group()).data());
}

BENCHMARK_CAPTURE(ours, few, true)->Name("proc_scan.16_tasks/ours")->Arg(16);
BENCHMARK_CAPTURE(stat_scan, few, true)->Name("proc_scan.16_tasks/stat_scan")->Arg(16);
BENCHMARK_CAPTURE(ours, many, true)->Name("proc_scan.500_tasks/ours")->Arg(500);
BENCHMARK_CAPTURE(stat_scan, many, true)->Name("proc_scan.500_tasks/stat_scan")->Arg(500);
BENCHMARK_CAPTURE(ours, far, false)->Name("proc_scan.500_started_by_tasks/ours")->Arg(500);
BENCHMARK_CAPTURE(stat_scan, far, false)
    ->Name("proc_scan.500_started_by_tasks/stat_scan")
    ->Arg(500);

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
