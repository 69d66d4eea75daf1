// SPDX-License-Identifier: BSD-3-Clause
// A whole job step against bare fork, exec and wait of the same programs, in alternating rounds of
// one run, so that both see the same machine. Usage: step_bench [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
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

template <class Work>
double seconds(Work&& work) {
  const auto begin = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void compare(int tasks, int rounds, const std::string& state_dir) {
  const std::vector<std::string> step{
      BACKPLANE_BIN_DIR "/backplane", "run",   "--state-dir", state_dir, "-n",
      std::to_string(tasks),          kProgram};
  std::vector<double> bare;
  std::vector<double> ours;
  for (int round = -1; round < rounds; ++round) {
    const double plain = seconds([&] {
      std::vector<pid_t> pids;
      for (int task = 0; task < tasks; ++task) pids.push_back(start({kProgram}));
      for (const pid_t pid : pids) wait_for(pid);
    });
    const double whole = seconds([&] { wait_for(start(step)); });
    if (round < 0) continue;  // the first round only warms the caches
    bare.push_back(plain);
    ours.push_back(whole);
  }
  const double floor = median(bare);
  const double step_time = median(ours);
  std::printf(
      "step.tasks_%d  bare %.3f ms  backplane run %.3f ms (%.0f steps/s)  "
      "time ratio %.2f  speed ratio %.2f\n",
      tasks, floor * 1e3, step_time * 1e3, 1 / step_time, step_time / floor, floor / step_time);
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
