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

/// A thousand sleeping processes, the first `members` of them in one group.
class Crowd {
 public:
  explicit Crowd(int members) {
    for (int i = 0; i < kProcesses; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) give_up(std::string("fork: ") + std::strerror(errno));
      if (pid == 0) wait_for_the_end();
      pids_.push_back(pid);
      const pid_t group = i < members ? pids_.front() : pids_[static_cast<std::size_t>(members)];
      if (::setpgid(pid, group) != 0) give_up("setpgid");
    }
  }
  ~Crowd() {
    for (const pid_t pid : pids_) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Crowd(const Crowd&) = delete;
  Crowd& operator=(const Crowd&) = delete;

  [[nodiscard]] pid_t group() const { return pids_.front(); }

 private:
  [[noreturn]] static void wait_for_the_end() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) ::pause();
  }

  std::vector<pid_t> pids_;
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

void ours(benchmark::State& state) {
  static QuietHost host;
  const Crowd crowd(static_cast<int>(state.range(0)));
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

void stat_scan(benchmark::State& state) {
  const Crowd crowd(static_cast<int>(state.range(0)));
  check(members_by_stat(crowd.group()).size(), state.range(0));

  for (auto _ : state) benchmark::DoNotOptimize(members_by_stat(crowd.group()).data());
}

BENCHMARK(ours)->Name("proc_scan.members_16_of_1000/ours")->Arg(16);
BENCHMARK(stat_scan)->Name("proc_scan.members_16_of_1000/stat_scan")->Arg(16);
BENCHMARK(ours)->Name("proc_scan.members_500_of_1000/ours")->Arg(500);
BENCHMARK(stat_scan)->Name("proc_scan.members_500_of_1000/stat_scan")->Arg(500);

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
