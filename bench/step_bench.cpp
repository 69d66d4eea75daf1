// SPDX-License-Identifier: BSD-3-Clause
// A whole job step against bare fork, exec and wait of the same programs, in alternating rounds of
// one run, so that both see the same machine. Usage: step_bench [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kProgram = "/bin/true";

pid_t start(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  return pid;
}

void wait_for(pid_t pid) {
  int status = 0;
  if (::waitpid(pid, &status, 0) != pid || status != 0) {
    std::fprintf(stderr, "step_bench: a program failed\n");
    std::exit(1);
  }
}

/// Processor time of all processes that have been waited for, directly or by a child.
double processor_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto whole = static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec);
  return whole + static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/// Times of many rounds of one subject.
struct Times {
  std::vector<double> wall;
  std::vector<double> processor;

  template <class Work>
  void take(bool keep, Work&& work) {
    const double used = processor_seconds();
    const auto begin = Clock::now();
    work();
    if (!keep) return;
    wall.push_back(std::chrono::duration<double>(Clock::now() - begin).count());
    processor.push_back(processor_seconds() - used);
  }
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(int tasks, int rounds, const std::string& state_dir) {
  const std::vector<std::string> step{
      BACKPLANE_BIN_DIR "/backplane", "run",   "--state-dir", state_dir, "-n",
      std::to_string(tasks),          kProgram};
  Times bare;
  Times ours;
  for (int round = -1; round < rounds; ++round) {
    const bool keep = round >= 0;  // the first round only warms the caches
    bare.take(keep, [&] {
      std::vector<pid_t> pids;
      for (int task = 0; task < tasks; ++task) pids.push_back(start({kProgram}));
      for (const pid_t pid : pids) wait_for(pid);
    });
    ours.take(keep, [&] { wait_for(start(step)); });
  }
  const double floor = median(bare.wall);
  const double step_time = median(ours.wall);
  const double floor_used = median(bare.processor);
  const double step_used = median(ours.processor);
  std::printf(
      "step.tasks_%-4d wall: bare %8.3f ms, step %8.3f ms (%.0f steps/s), time ratio %.2f, "
      "speed ratio %.2f\n",
      tasks, floor * 1e3, step_time * 1e3, 1 / step_time, step_time / floor, floor / step_time);
  std::printf("%15s processor: bare %8.3f ms, step %8.3f ms, time ratio %.2f, speed ratio %.2f\n",
              "", floor_used * 1e3, step_used * 1e3, step_used / floor_used,
              floor_used / step_used);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 50;
  std::string directory = "/tmp/backplane-bench-XXXXXX";
  if (::mkdtemp(directory.data()) == nullptr) return 1;
  compare(1, rounds * 4, directory);
  compare(128, std::max(1, rounds / 2), directory);
  std::filesystem::remove_all(directory);
  return 0;
}
