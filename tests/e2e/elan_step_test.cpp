// SPDX-License-Identifier: BSD-3-Clause
// Steps over Elan on the mock libraries: order of the calls and life of the grants.
// Source of the numbered checks: switch call order, acceptance list.
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sstream>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/elan_fixture.h"

namespace backplane_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Lines = std::multiset<std::string>;

constexpr const char* kRms = "echo rank $RMS_RANK of $RMS_NPROCS on node $RMS_NODEID";
const Lines kFourRanks{"0: rank 0 of 4 on node 0", "1: rank 1 of 4 on node 0",
                       "2: rank 2 of 4 on node 1", "3: rank 3 of 4 on node 1"};

/// Lets two readers of a fifo go on, whenever they come: open for both ends until destroyed.
class Gate {
 public:
  explicit Gate(const std::string& fifo) : fd_(::open(fifo.c_str(), O_RDWR | O_CLOEXEC)) {
    EXPECT_EQ(::write(fd_, "a\nb\n", 4), 4);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  ~Gate() { ::close(fd_); }

 private:
  int fd_;
};

class ElanStep : public ElanStepTest {
 protected:
  std::string shape_line(const Ran& ran, const std::string& process) {
    std::string text;
    for (const auto& call : calls(ran.err, process, "switch_p_")) text += call + " ";
    return text;
  }
};

TEST_F(ElanStep, TheMainJobOfTheProduct) {
  for (const auto* shape : {"v0", "late"}) {
    const auto ran = run_elan({"--shape", shape, "-N2", "-n4", "--proctrack", "pgid", "-l"}, kRms);

    EXPECT_EQ(ran.code, 0) << ran.err;
    EXPECT_EQ(ran.lines(), kFourRanks);
    expect_nothing_left();
  }
}

TEST_F(ElanStep, UnevenCountsInTurn) {
  const auto ran = run_elan({"-N3", "-n5", "-m", "cyclic"}, "echo $RMS_RANK $RMS_NODEID");

  EXPECT_EQ(ran.lines(), (Lines{"0 0", "1 1", "2 2", "3 0", "4 1"})) << ran.err;
  expect_nothing_left();
}

TEST_F(ElanStep, Check06_CallLogOfVersion0EqualsTheTable) {
  const auto ran = run_elan({"-N2", "-n4", "--trace"}, "true");

  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(shape_line(ran, "controller"),
            "libstate_restore=0 alloc_jobinfo=0 build_jobinfo=0 copy_jobinfo=pointer "
            "pack_jobinfo=2104 free_jobinfo=- job_step_complete=0 free_jobinfo=- libstate_save=0 ");
  for (const auto* node : {"n0", "n1"}) {
    EXPECT_EQ(shape_line(ran, std::string("job manager on ") + node),
              "alloc_jobinfo=0 unpack_jobinfo=0 job_preinit=0 job_postfini=0 free_jobinfo=- ");
    EXPECT_EQ(shape_line(ran, std::string("session manager on ") + node), "job_init=0 job_fini=0 ");
    for (const auto* task : {"task 0 on ", "task 1 on "}) {
      EXPECT_EQ(shape_line(ran, std::string(task) + node), "job_attach=0 ");
    }
    EXPECT_THAT(calls(ran.err, std::string("job manager on ") + node, "slurm_container_plugin_"),
                ElementsAre("create=0", "add=0", "add=0", "signal=-1", "wait=0", "destroy=0"));
  }
  expect_nothing_left();
}

TEST_F(ElanStep, Check06_RunsAsTheUserBetweenRootsCalls) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to become somebody else";
  const auto ran = run_elan({"--uid=nobody", "-D", "/", "--trace", "-v"}, "id -u");

  EXPECT_EQ(ran.out, "65534\n") << ran.err;
  EXPECT_EQ(ran.code, 0);
  const auto section = [&](const std::string& name) {
    const auto begin = ran.err.find(name + ", pid");
    return begin == std::string::npos ? ""
                                      : ran.err.substr(begin, ran.err.find("\n\n", begin) - begin);
  };
  const auto session = section("session manager on n0");
  EXPECT_LT(session.find("as user 0"), session.find("switch_p_job_init"));
  EXPECT_LT(session.find("as user 65534"), session.find("switch_p_job_fini"));
  EXPECT_THAT(section("task 0 on n0"), HasSubstr("as user 65534"));
  EXPECT_THAT(section("job manager on n0"), Not(HasSubstr("as user 65534")));
  expect_nothing_left();
}

TEST_F(ElanStep, Check07_CallLogOfTheLateOrderEqualsTheTable) {
  const auto ran = run_elan({"--shape", "late", "-N2", "-n2", "--trace"}, "true");

  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_EQ(shape_line(ran, "step manager on n1"),
            "alloc_jobinfo=0 unpack_jobinfo=0 job_preinit=0 job_init=0 job_fini=0 job_postfini=0 "
            "free_jobinfo=- ");
  EXPECT_EQ(shape_line(ran, "task 0 on n1"), "job_attach=0 ");
  expect_nothing_left();
}

TEST_F(ElanStep, Check17_AStepThatLosesItsLauncherLosesNoGrant) {
  auto step = start_elan({"-N2", "-n2"}, "echo up $$; kill -STOP $$; read line </dev/zero");
  step->wait_for_lines(2);

  step->signal(SIGKILL);
  step->finish();
  const auto next = run_elan({"-N2", "-n4", "-l"}, kRms);

  EXPECT_EQ(next.lines(), kFourRanks) << next.err;
  EXPECT_THAT(next.err, HasSubstr("released what step 1.0 of a run that died"));
  expect_nothing_left();
}

TEST_F(ElanStep, Check17_TwoRunsAtOnceNeverShareAContext) {
  // Both print their capability's program; the first holds its grant while the second comes and
  // goes, and gives it back into a state that the second has changed.
  ASSERT_EQ(run_shell({"-D", dir()}, "mkfifo hold").code, 0);
  auto first = start_elan({"-N2", "-n2", "-D", dir()}, "echo up; read line <hold");
  first->wait_for_lines(2);

  const auto second = run_elan({"-N2", "-n4", "-l"}, kRms);
  const Gate gate(dir() + "/hold");

  EXPECT_EQ(second.lines(), kFourRanks) << second.err;
  EXPECT_EQ(first->finish().code, 0);
  expect_nothing_left();
}

TEST_F(ElanStep, Check23_AMissingNodeDaemonDoesNotKeepPostfiniFromSuccess) {
  // The launcher plays the node daemons: it dies between attach and postfini.
  for (const auto* shape : {"v0", "late"}) {
    auto step = start_elan({"--shape", shape, "-N2", "-n2"},
                           "echo up; kill -STOP $$; read line </dev/zero");
    step->wait_for_lines(2);
    step->signal(SIGKILL);
    step->finish();

    EXPECT_EQ(run_elan({"--shape", shape}, "true").code, 0);
    expect_nothing_left();
  }
}

TEST_F(ElanStep, Check29_StepsOfTwoUsersOnOneNodeDoNotReleaseEachOther) {
  ASSERT_EQ(run_shell({"-D", dir()}, "mkfifo -m 666 hold").code, 0);
  const bool root = ::geteuid() == 0;
  if (root) {
    ASSERT_EQ(::chmod(dir().c_str(), 0711), 0);
  }
  const auto as = [&](const char* user) {
    return root ? std::vector<std::string>{"--uid", user, "-D", dir(), "-n2"}
                : std::vector<std::string>{"-D", dir(), "-n2"};
  };
  auto first = start_elan(as("nobody"), "echo up; read line <hold");
  first->wait_for_lines(2);
  auto second = start_elan(as("daemon"), "echo up; kill -STOP $$; read line </dev/zero");
  second->wait_for_lines(2);

  second->signal(SIGTERM);
  EXPECT_EQ(second->finish().code, 128 + SIGTERM);

  EXPECT_THAT(mock({"report"}).out, HasSubstr("program"))
      << "the first step's program is still there";
  const Gate gate(dir() + "/hold");
  EXPECT_EQ(first->finish().code, 0);
  expect_nothing_left();
}

}  // namespace
}  // namespace backplane_test
