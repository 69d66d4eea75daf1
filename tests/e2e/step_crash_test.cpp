// SPDX-License-Identifier: BSD-3-Clause
// Processes of a step that die: nobody survives, nothing stays behind.
#include <csignal>
#include <gmock/gmock.h>
#include <sstream>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;

/// A step whose tasks said "<node> <task's pid> <its parent>".
struct Processes {
  std::map<std::string, std::vector<pid_t>> tasks;
  std::map<std::string, pid_t> parents;

  explicit Processes(const std::string& text) {
    std::istringstream in(text);
    std::string node;
    pid_t task = 0;
    pid_t parent = 0;
    while (in >> node >> task >> parent) {
      tasks[node].push_back(task);
      parents[node] = parent;
    }
  }
};

constexpr const char* kSayAndWait =
    "trap '' TERM; echo $SLURMD_NODENAME $$ $PPID; while :; do read line <fifo; done";

class StepCrash : public StepTest {
 protected:
  void SetUp() override {
    StepTest::SetUp();
    ASSERT_EQ(run_shell({"-D", dir()}, "mkfifo fifo").code, 0);
  }

  std::unique_ptr<Running> start_waiting(const std::string& shape) {
    return start_shell({"-N2", "-n4", "--shape", shape, "--kill-wait=0", "-v", "-D", dir()},
                       kSayAndWait);
  }

  static void expect_gone(const Processes& processes) {
    for (const auto& [node, tasks] : processes.tasks) {
      for (const auto task : tasks) EXPECT_FALSE(is_running(task)) << node;
    }
  }
};

TEST_F(StepCrash, AKilledManagerIsTakenOver) {
  for (const auto* shape : {"v0", "late"}) {
    auto step = start_waiting(shape);
    const Processes processes(step->wait_for_lines(4));
    const pid_t session = processes.parents.at("n1");
    const pid_t manager = std::string(shape) == "v0" ? parent_of(session) : session;
    ASSERT_EQ(parent_of(manager), step->pid());

    ASSERT_EQ(::kill(manager, SIGKILL), 0);

    const auto ran = step->finish();
    EXPECT_EQ(ran.code, 128 + SIGKILL);
    EXPECT_THAT(ran.err, HasSubstr("n1: the manager (process " + std::to_string(manager) +
                                   ") was ended by signal 9"));
    EXPECT_THAT(ran.err, HasSubstr("survivors: 0\n"));
    expect_gone(processes);
    EXPECT_EQ(ledger_count(), 0U);
  }
}

TEST_F(StepCrash, AKilledSessionIsReportedAndItsTasksEnd) {
  auto step = start_waiting("v0");
  const Processes processes(step->wait_for_lines(4));

  ASSERT_EQ(::kill(processes.parents.at("n0"), SIGKILL), 0);

  const auto ran = step->finish();
  EXPECT_EQ(ran.code, 128 + SIGKILL);
  EXPECT_THAT(ran.err,
              HasSubstr("n0: the session (process " + std::to_string(processes.parents.at("n0")) +
                        ") was ended by signal 9"));
  expect_gone(processes);
  EXPECT_EQ(ledger_count(), 0U);
}

TEST_F(StepCrash, NobodySurvivesAKilledLauncher) {
  for (const auto* shape : {"v0", "late"}) {
    auto step = start_waiting(shape);
    const Processes processes(step->wait_for_lines(4));

    step->signal(SIGKILL);

    EXPECT_EQ(step->finish().code, 128 + SIGKILL);  // its streams have closed: everybody is gone
    expect_gone(processes);
    ASSERT_EQ(ledger_count(), 1U);
    const auto next = run({"true"});
    EXPECT_EQ(next.code, 0);
    EXPECT_THAT(next.err, HasSubstr("of a run that died (process"));
    EXPECT_EQ(ledger_count(), 0U);
  }
}

TEST_F(StepCrash, TasksOfALauncherAndManagersThatAllDiedEndInTheNextRun) {
  auto step = start_waiting("v0");
  const Processes processes(step->wait_for_lines(4));
  const std::array<pid_t, 2> sessions{processes.parents.at("n0"), processes.parents.at("n1")};
  const std::array<pid_t, 2> managers{parent_of(sessions[0]), parent_of(sessions[1])};

  // Stopped first, so that none can react to the end of another.
  for (const auto pid : sessions) ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  for (const auto pid : managers) ASSERT_EQ(::kill(pid, SIGSTOP), 0);
  step->signal(SIGKILL);
  ASSERT_TRUE(wait_until_gone(step->pid()));
  for (const auto pid : managers) ASSERT_EQ(::kill(pid, SIGKILL), 0);
  for (const auto pid : sessions) ASSERT_EQ(::kill(pid, SIGKILL), 0);
  const auto next = run({"true"});

  EXPECT_THAT(next.err, HasSubstr("of a run that died (process"));
  EXPECT_EQ(step->finish().code, 128 + SIGKILL);
  expect_gone(processes);
  EXPECT_EQ(ledger_count(), 0U);
}

TEST_F(StepCrash, EscapeesOfEveryKindEnd) {
  const auto ran = run_shell(
      {"-v", "-D", dir()},
      "setsid sh -c '(echo up >fifo; exec sleep 1000) &'; read line <fifo; "
      "(setsid sh -c 'echo up >fifo; trap \"\" TERM; while :; do read line <none; done' &); "
      "mkfifo none; read line <fifo; "
      "(exec -a 'a) S 1 1 (x' sleep 1000 & echo $! >/dev/null); exit 0");

  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("survivors: 0\n"));
  EXPECT_THAT(ran.err, Not(HasSubstr("escaped the tracker: 0\n")));
}

TEST_F(StepCrash, LeavesStrangersAlone) {
  Running stranger({"/bin/sh", "-c", "echo up; read line"}, "", {});
  stranger.wait_for_lines(1);
  Running other({"/bin/sleep", "1000"}, std::nullopt, {});

  auto step = start_waiting("v0");
  step->wait_for_lines(4);
  step->signal(SIGTERM);

  EXPECT_EQ(step->finish().code, 128 + SIGKILL);
  EXPECT_TRUE(is_running(other.pid()));
}

}  // namespace
}  // namespace backplane_test
