// SPDX-License-Identifier: BSD-3-Clause
// Signals, time limit and early ends of a step, through the real command.
#include <csignal>
#include <gmock/gmock.h>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;

/// Says "up", then waits for ever without a child of its own that could outlive it.
constexpr const char* kWait = "echo up; while :; do read line <fifo; done";

class StepSignals : public StepTest {
 protected:
  void SetUp() override {
    StepTest::SetUp();
    const auto made = run_shell({"-D", dir()}, "mkfifo fifo");
    ASSERT_EQ(made.code, 0) << made.err;
  }

  /// The task's shell reacts to `name` by saying so.
  [[nodiscard]] static std::string trapping(const std::string& name, const std::string& action) {
    return "trap '" + action + "' " + name + "; " + kWait;
  }
};

TEST_F(StepSignals, PassesSignalsOnToEveryTask) {
  for (const auto& [number, name] :
       {std::pair{SIGUSR1, "USR1"}, {SIGUSR2, "USR2"}, {SIGHUP, "HUP"}, {SIGQUIT, "QUIT"}}) {
    auto step =
        start_shell({"-N2", "-n4", "-D", dir()}, trapping(name, std::string("echo got; exit 5")));
    step->wait_for_lines(4);

    step->signal(number);

    const auto ran = step->finish();
    EXPECT_EQ(ran.code, 5) << name << ran.err;
    EXPECT_EQ(ran.lines().count("got"), 4U) << name;
  }
}

TEST_F(StepSignals, StopsAndContinuesTheTasks) {
  auto step = start_shell({"-D", dir()}, trapping("USR1", "echo got; exit 0"));
  step->wait_for_lines(1);

  step->signal(SIGTSTP);
  step->signal(SIGUSR1);
  step->signal(SIGCONT);

  EXPECT_EQ(step->finish().out, "up\ngot\n");
}

TEST_F(StepSignals, TermEndsTheStep) {
  auto step = start_shell({"-N2", "-n2", "-D", dir()}, kWait);
  step->wait_for_lines(2);

  step->signal(SIGTERM);

  EXPECT_EQ(step->finish().code, 128 + SIGTERM);
}

TEST_F(StepSignals, TasksThatIgnoreTermAreKilled) {
  auto step = start_shell({"-n2", "--kill-wait=0", "-D", dir()}, trapping("TERM", ":"));
  step->wait_for_lines(2);

  step->signal(SIGTERM);

  EXPECT_EQ(step->finish().code, 128 + SIGKILL);
}

TEST_F(StepSignals, ATaskThatLeftItsGroupIsKilledToo) {
  auto step = start_shell({"--kill-wait=0", "-D", dir(), "-v"},
                          "exec setsid -w sh -c 'trap : TERM; " + std::string(kWait) + "'");
  step->wait_for_lines(1);

  step->signal(SIGTERM);

  EXPECT_THAT(step->finish().err, HasSubstr("survivors: 0\n"));
}

TEST_F(StepSignals, InterruptOnceReportsTwiceEnds) {
  auto step = start_shell({"-n2", "-D", dir()},
                          "trap 'echo int' INT; trap 'exit 9' TERM; " + std::string(kWait));
  step->wait_for_lines(2);

  step->signal(SIGINT);
  step->wait_for_error("interrupt (one more within 1 sec to abort)\n");
  EXPECT_THAT(step->wait_for_error("running\n"), HasSubstr("backplane: tasks 0-1: running\n"));
  step->signal(SIGINT);

  const auto ran = step->finish();
  EXPECT_EQ(ran.lines().count("int"), 2U) << ran.err;
  EXPECT_EQ(ran.code, 9);
}

TEST_F(StepSignals, AThirdInterruptKills) {
  auto step =
      start_shell({"--kill-wait=3600", "-D", dir()}, "trap '' INT TERM; " + std::string(kWait));
  step->wait_for_lines(1);

  step->signal(SIGINT);
  step->wait_for_error("to abort");
  step->signal(SIGINT);
  step->wait_for_error("ending it");
  step->signal(SIGINT);

  EXPECT_EQ(step->finish().code, 128 + SIGKILL);
}

TEST_F(StepSignals, TheTimeLimitEndsTheStep) {
  const auto killed = run_shell({"-t", "0:01", "-D", dir()}, kWait);
  EXPECT_EQ(killed.code, 128 + SIGTERM);
  EXPECT_THAT(killed.err, HasSubstr("time limit reached"));

  const auto polite = run_shell({"-t", "0:01", "-D", dir()}, trapping("TERM", "exit 0"));
  EXPECT_EQ(polite.code, 124);
}

TEST_F(StepSignals, ABadExitEndsTheOthersWhenAsked) {
  const auto ran = run_shell({"-N2", "-n4", "-K", "-D", dir()},
                             "test $SLURM_PROCID = 3 && exit 7; " + std::string(kWait));

  EXPECT_EQ(ran.code, 128 + SIGTERM);
  EXPECT_THAT(ran.err, HasSubstr("a task failed: ending the step (-K)"));
}

TEST_F(StepSignals, RefusesTimesThatAreNone) {
  for (const auto* text : {"", "x", "1:2:3:4", "-1", "1-", "400-0"}) {
    EXPECT_EQ(run({"-t", text, "true"}).code, 2) << text;
  }
}

}  // namespace
}  // namespace backplane_test
