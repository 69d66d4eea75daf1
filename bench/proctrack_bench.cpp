// SPDX-License-Identifier: BSD-3-Clause
// Latency of calls on one step of a thousand sleeping tasks, beside the bare kill(2) of the same.
// Wanted: signal 0 below 1 ms, SIGKILL until the last one is gone below 1 s.
#include <benchmark/benchmark.h>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
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

constexpr int kSleepers = 1000;
constexpr std::chrono::milliseconds kPatience{10'000};

[[noreturn]] void give_up(const std::string& reason) {
  std::fprintf(stderr, "proctrack_bench: %s\n", reason.c_str());
  std::exit(1);
}

class QuietHost final : public Host {
 public:
  void log(LogLevel, std::string_view) override {}
  std::string node_name() override { return "bench"; }
  Clock& clock() override { return system_clock(); }
};

/// Sleeping children of this process in one group.
class Sleepers {
 public:
  Sleepers() {
    for (int i = 0; i < kSleepers; ++i) {
      const pid_t pid = ::fork();
      if (pid < 0) give_up("fork");
      if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (true) ::pause();
      }
      pids_.push_back(pid);
      if (::setpgid(pid, group()) != 0) give_up("setpgid");
    }
  }
  ~Sleepers() {
    ::kill(-group(), SIGKILL);
    for (const pid_t pid : pids_) ::waitpid(pid, nullptr, 0);
  }
  Sleepers(const Sleepers&) = delete;
  Sleepers& operator=(const Sleepers&) = delete;

  [[nodiscard]] pid_t group() const { return pids_.front(); }

  /// Until each has ended; their status stays for the destructor.
  void wait_for_end() const {
    for (const pid_t pid : pids_) {
      siginfo_t info{};
      if (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) != 0) give_up("waitid");
    }
  }

 private:
  std::vector<pid_t> pids_;
};

/// A tracker that holds the group of `sleepers`.
struct Tracked {
  explicit Tracked(const Sleepers& sleepers) {
    static QuietHost host;
    const BackendConfig config;
    auto made = linux_host::pgid_backend.make_process_aggregate({.config = config, .host = host});
    if (!made) give_up(made.error().detail);
    tracker = std::move(*made);
    StepDescriptor step;
    step.process_group = sleepers.group();
    id = tracker->create(step).value_or(kNoContainer);
    if (auto added = tracker->add(id, step.process_group, step); !added) {
      give_up(added.error().detail);
    }
  }

  std::unique_ptr<ProcessAggregate> tracker;
  ContainerId id = kNoContainer;
};

void test_ours(benchmark::State& state) {
  const Sleepers sleepers;
  const Tracked tracked(sleepers);
  for (auto _ : state) {
    if (!tracked.tracker->signal(tracked.id, 0)) return state.SkipWithError("signal 0 failed");
  }
}

void test_bare(benchmark::State& state) {
  const Sleepers sleepers;
  for (auto _ : state) {
    if (::kill(-sleepers.group(), 0) != 0) return state.SkipWithError("kill failed");
  }
}

template <class End>
void time_end(benchmark::State& state, End&& end) {
  for (auto _ : state) {
    const Sleepers sleepers;
    const Tracked tracked(sleepers);
    const auto begin = std::chrono::steady_clock::now();
    if (!end(sleepers, tracked)) return state.SkipWithError("they could not be killed");
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    state.SetIterationTime(took.count());
  }
}

void kill_ours(benchmark::State& state) {
  time_end(state, [](const Sleepers&, const Tracked& tracked) {
    return tracked.tracker->signal(tracked.id, SIGKILL) &&
           tracked.tracker->wait_empty(tracked.id, kPatience);
  });
}

void kill_bare(benchmark::State& state) {
  time_end(state, [](const Sleepers& sleepers, const Tracked&) {
    if (::kill(-sleepers.group(), SIGKILL) != 0) return false;
    sleepers.wait_for_end();
    return true;
  });
}

BENCHMARK(test_ours)->Name("proctrack.signal_0_of_1000/ours");
BENCHMARK(test_bare)->Name("proctrack.signal_0_of_1000/bare_kill");
BENCHMARK(kill_ours)->Name("proctrack.kill_of_1000/ours")->UseManualTime()->Iterations(10);
BENCHMARK(kill_bare)->Name("proctrack.kill_of_1000/bare_kill")->UseManualTime()->Iterations(10);

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
