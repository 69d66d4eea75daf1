// SPDX-License-Identifier: BSD-3-Clause
// A step's layout, environment, shapes and exit code, through the real command.
#include <gmock/gmock.h>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;
using Lines = std::multiset<std::string>;

class StepShapes : public StepTest, public ::testing::WithParamInterface<const char*> {
 protected:
  [[nodiscard]] std::vector<std::string> shape() const { return {"--shape", GetParam()}; }
};

std::vector<std::string> operator+(std::vector<std::string> left,
                                   const std::vector<std::string>& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

constexpr const char* kWho = "echo $SLURM_PROCID $SLURM_NODEID $SLURM_LOCALID $SLURMD_NODENAME";

TEST_P(StepShapes, PlacesTasksInBlocks) {
  const auto ran = run_shell(shape() + std::vector<std::string>{"-N2", "-n4"}, kWho);

  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(ran.lines(), (Lines{"0 0 0 n0", "1 0 1 n0", "2 1 0 n1", "3 1 1 n1"}));
  EXPECT_EQ(ran.err, "");
}

TEST_P(StepShapes, PlacesTasksInTurn) {
  const auto ran =
      run_shell(shape() + std::vector<std::string>{"-N2", "-n5", "-m", "cyclic"}, kWho);

  EXPECT_EQ(ran.lines(), (Lines{"0 0 0 n0", "2 0 1 n0", "4 0 2 n0", "1 1 0 n1", "3 1 1 n1"}));
}

TEST_P(StepShapes, GivesTheFirstNodesOneTaskMore) {
  const auto ran = run_shell(shape() + std::vector<std::string>{"-w", "a,b[1-2]", "-n", "5"}, kWho);

  EXPECT_EQ(ran.lines(), (Lines{"0 0 0 a", "1 0 1 a", "2 1 0 b1", "3 1 1 b1", "4 2 0 b2"}));
}

TEST_P(StepShapes, TellsTheTasksOfTheirStep) {
  const auto ran =
      run_shell(shape() + std::vector<std::string>{"-N2", "-n3", "-o", "0"},
                "echo $SLURM_JOB_ID $SLURM_STEP_ID $SLURM_NTASKS $SLURM_NPROCS $SLURM_NNODES "
                "$SLURM_JOB_NODELIST \"$SLURM_TASKS_PER_NODE\" $SLURM_GTIDS $SLURM_DISTRIBUTION");

  EXPECT_EQ(ran.out, "1 0 3 3 2 n[0-1] 2,1 0,1 block\n") << ran.err;
}

TEST_P(StepShapes, AnswersTheHighestExitCode) {
  const auto ran = run_shell(shape() + std::vector<std::string>{"-n3"}, "exit $SLURM_PROCID");

  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("n0: task 2: ended with status 2"));
}

TEST_P(StepShapes, AnswersASignalAsShellsDo) {
  EXPECT_EQ(run_shell(shape(), "kill -11 $$").code, 128 + 11);
}

TEST_P(StepShapes, SaysOnceThatThereIsNoSuchProgram) {
  const auto ran = run(shape() + std::vector<std::string>{"-n8", "no-such-program"});

  EXPECT_EQ(ran.code, 127);
  EXPECT_EQ(ran.err,
            "backplane: n0: tasks 0-7: cannot run 'no-such-program': No such file or directory\n");
}

TEST_P(StepShapes, SaysThatAFileIsNoProgram) {
  write_file(dir() + "/data", "nothing to run\n");

  const auto ran = run(shape() + std::vector<std::string>{dir() + "/data"});

  EXPECT_EQ(ran.code, 126);
  EXPECT_THAT(ran.err, HasSubstr("Permission denied"));
}

TEST_P(StepShapes, RunsAThousandTasks) {
  const auto ran = run_shell(shape() + std::vector<std::string>{"-N4", "-n1000", "-l"}, "echo x");

  EXPECT_EQ(ran.code, 0) << ran.err;
  Lines expected;
  for (int rank = 0; rank < 1000; ++rank) {
    auto label = std::to_string(rank);
    label.insert(0, 3 - label.size(), ' ');
    expected.insert(label + ": x");
  }
  EXPECT_EQ(ran.lines(), expected);
}

TEST_P(StepShapes, RunsAsAnOrdinaryUser) {
  if (::geteuid() == 0) {
    as_user_ = 65534;
    ASSERT_EQ(::chown(dir().c_str(), as_user_, as_user_), 0);
  }

  const auto ran = run_shell(shape() + std::vector<std::string>{"-N2", "-n2", "-v"}, "id -u");

  const auto user = std::to_string(as_user_ != 0 ? as_user_ : ::geteuid());
  EXPECT_EQ(ran.lines(), (Lines{user, user})) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("survivors: 0\n"));
}

INSTANTIATE_TEST_SUITE_P(Shapes, StepShapes, ::testing::Values("v0", "late"),
                         [](const auto& shape) { return std::string(shape.param); });

class StepBasic : public StepTest {};

TEST_F(StepBasic, BecomesTheUserForGood) {
  if (::geteuid() != 0) {
    const auto refused = run({"--uid", "0", "true"});
    EXPECT_EQ(refused.code, 2);
    EXPECT_THAT(refused.err, HasSubstr("only root"));
    return;
  }
  for (const auto* shape : {"v0", "late"}) {
    const auto ran = run_shell({"--uid", "nobody", "--gid", "nogroup", "--shape", shape, "-D", "/"},
                               "grep -E '^(Uid|Gid|Groups)' /proc/self/status | tr '\\t' ' '; "
                               "cat /proc/$PPID/status | grep -c 'Uid:.65534.65534.65534.65534'");
    const bool late = std::string(shape) == "late";
    EXPECT_THAT(ran.out, HasSubstr("Uid: 65534 65534 65534 65534\n")) << ran.err;
    EXPECT_THAT(ran.out, HasSubstr("Gid: 65534 65534 65534 65534\n"));
    EXPECT_THAT(ran.out, HasSubstr("Groups: 65534"));
    EXPECT_THAT(ran.out, ::testing::EndsWith(late ? "\n0\n" : "\n1\n")) << "the session's user";
  }
}

TEST_F(StepBasic, CountsJobsAcrossRuns) {
  EXPECT_EQ(run_shell({}, "echo $SLURM_JOB_ID").out, "1\n");
  EXPECT_EQ(run_shell({}, "echo $SLURM_JOB_ID").out, "2\n");
  EXPECT_EQ(ledger_count(), 0U);
}

TEST_F(StepBasic, UsesNoMoreNodesThanTasks) {
  const auto ran = run_shell({"-N4", "-n2"}, "echo $SLURM_NNODES $SLURM_JOB_NODELIST");

  EXPECT_EQ(ran.lines(), (Lines{"2 n[0-1]", "2 n[0-1]"}));
  EXPECT_EQ(ran.err, "backplane: cannot run 2 tasks on 4 nodes, using 2\n");
}

TEST_F(StepBasic, PassesOnWhatExportNames) {
  environment_ = {"KEPT=1", "LEFT=2"};

  EXPECT_EQ(run_shell({"--export=KEPT,SET=a b"}, "echo $KEPT-$LEFT-$SET").out, "1--a b\n");
  EXPECT_EQ(run_shell({"--export=NONE"}, "echo $KEPT-$LEFT-$SLURM_PROCID").out, "--0\n");
  EXPECT_EQ(run_shell({"--export=ALL,LEFT=3"}, "echo $KEPT-$LEFT").out, "1-3\n");
}

TEST_F(StepBasic, ReportsTasksPluginsAndSurvivors) {
  const auto ran = run_shell({"-N2", "-n2", "-v", "--json=" + dir() + "/out.json"}, "exit 3");

  EXPECT_THAT(ran.err, HasSubstr("NODE   RANK      PID       EXIT    SECONDS       MAXRSS\n"));
  EXPECT_THAT(ran.err, HasSubstr("plugins: switch/none proctrack/pgid job_container/none "
                                 "core_spec/none jobacct/none\n"));
  EXPECT_THAT(ran.err, HasSubstr("escaped the tracker: 0\nsurvivors: 0\n"));
  EXPECT_THAT(read_file(dir() + "/out.json"),
              ::testing::AllOf(HasSubstr("\"exit_code\":3"), HasSubstr("\"survivors\":0"),
                               HasSubstr("\"rank\":1,\"node\":\"n1\"")));
}

}  // namespace
}  // namespace backplane_test
