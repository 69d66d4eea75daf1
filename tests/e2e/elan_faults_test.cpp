// SPDX-License-Identifier: BSD-3-Clause
// Each row of the table of failure paths, with faults injected into the mock libraries, and deaths
// of processes. Source: switch call order 4.1.
#include <csignal>
#include <fstream>
#include <gmock/gmock.h>

#include "tests/e2e/elan_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;

class ElanFaults : public ElanStepTest {
 protected:
  static std::string switch_calls(const Ran& ran, const std::string& process) {
    std::string text;
    for (const auto& call : calls(ran.err, process, "switch_p_")) text += call + " ";
    return text;
  }
};

TEST_F(ElanFaults, Check08_AFailedBuildIsCompletedAndFreed) {
  const auto ran = run_elan({"-w", "unknown-host", "--trace"}, "true");

  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("switch/elan: build of a credential: "));
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_MoreTasksThanContexts) {
  const auto ran = run_elan({"-n", "20000"}, "true");

  EXPECT_NE(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("switch/elan: build of a credential: "));
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_InitFailsPostfiniFollowsAndFiniDoesNot) {
  ASSERT_EQ(mock({"inject", "rms_prgcreate", "1", "ENOMEM"}).code, 0);

  const auto ran = run_elan({"--trace"}, "echo never");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(ran.out, "");
  EXPECT_THAT(ran.err, HasSubstr("n0: switch/elan: job_init: "));
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_InitFailsInTheLateOrder) {
  ASSERT_EQ(mock({"inject", "rms_prgcreate", "1", "ENOMEM"}).code, 0);

  EXPECT_EQ(run_elan({"--shape", "late"}, "echo never").code, 1);
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_ATaskThatCannotAttachEndsWithOneAndTheOthersGoOn) {
  for (const auto* shape : {"v0", "late"}) {
    ASSERT_EQ(mock({"inject", "rms_setcap", "1", "EINVAL"}).code, 0);

    const auto ran = run_elan({"--shape", shape, "-n3", "--json=" + dir() + "/json"}, "echo up");

    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_EQ(ran.lines().count("up"), 2U);
    EXPECT_THAT(ran.err, HasSubstr("switch/elan: job_attach: "));
    expect_nothing_left();
  }
}

TEST_F(ElanFaults, Check09_AFileOfANodeFailsAndPostfiniComesWithoutInit) {
  for (const auto* shape : {"v0", "late"}) {
    const auto ran =
        run_elan({"--shape", shape, "--trace", "-o", dir() + "/missing/%t"}, "echo never");

    EXPECT_EQ(ran.code, 1);
    const auto manager = std::string(shape) == "v0" ? "job manager on n0" : "step manager on n0";
    EXPECT_THAT(switch_calls(ran, manager), HasSubstr("job_preinit=0 job_postfini=0 "));
    EXPECT_EQ(switch_calls(ran, "session manager on n0"), "");
    expect_nothing_left();
  }
}

TEST_F(ElanFaults, Check08_BecomingTheUsersDirectoryFailsAndFiniIsNotCalled) {
  const auto ran = run_elan({"--trace", "-D", dir() + "/missing"}, "echo never");

  EXPECT_EQ(ran.code, 1);
  EXPECT_EQ(switch_calls(ran, "session manager on n0"), "job_init=0 ");
  EXPECT_THAT(switch_calls(ran, "job manager on n0"), HasSubstr("job_postfini=0 "));
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_TaskKilledChangesNoOrder) {
  const auto ran = run_elan({"-n2", "--trace"}, "test $SLURM_PROCID = 1 && kill -9 $$; true");

  EXPECT_EQ(ran.code, 128 + SIGKILL);
  EXPECT_EQ(switch_calls(ran, "session manager on n0"), "job_init=0 job_fini=0 ");
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_KilledSession) {
  const auto ran = run_elan({"-N2", "-n2", "--kill-wait=0", "--trace"},
                            "test $SLURM_PROCID = 0 && kill -9 $PPID; kill -STOP $$");

  // SIGHUP is the kernel's: the killed session leaves a stopped group without a parent.
  EXPECT_THAT(ran.code, ::testing::AnyOf(128 + SIGKILL, 128 + SIGTERM, 128 + SIGHUP));
  EXPECT_THAT(ran.err, HasSubstr("n0: the session (process "));
  EXPECT_THAT(switch_calls(ran, "job manager on n0"), HasSubstr("job_postfini=0 "));
  expect_nothing_left();
}

TEST_F(ElanFaults, Check08_KilledManager) {
  // Held by a pipe: a stopped group that loses its parent would get SIGHUP from the kernel.
  ASSERT_EQ(run_shell({"-D", dir()}, "mkfifo hold").code, 0);
  for (const auto* shape : {"v0", "late"}) {
    auto step = start_elan({"--shape", shape, "-N2", "-n4", "-D", dir(), "--kill-wait=0"},
                           "echo $SLURMD_NODENAME-$PPID; read line <hold");
    const auto text = step->wait_for_lines(4);
    const auto at = text.find("n1-");
    ASSERT_NE(at, std::string::npos);
    const pid_t parent = std::stoi(text.substr(at + 3));
    ASSERT_EQ(::kill(std::string(shape) == "v0" ? parent_of(parent) : parent, SIGKILL), 0);

    const auto ran = step->finish();
    EXPECT_THAT(ran.code, ::testing::AnyOf(128 + SIGKILL, 128 + SIGTERM));
    EXPECT_THAT(ran.err, HasSubstr("n1: the manager (process "));
    expect_nothing_left();
  }
}

TEST_F(ElanFaults, Check08_ProcessesThatDieInsideVendorCalls) {
  for (const auto* shape : {"v0", "late"}) {
    for (const auto* function : {"rms_prgcreate", "rms_prgaddcap", "rms_setcap", "rms_prgdestroy",
                                 "elanctrl_create_cap"}) {
      for (const auto* when : {"before", "after"}) {
        ASSERT_EQ(mock({"kill", function, "1", when}).code, 0);

        const auto ran = run_elan({"--shape", shape, "-N2", "-n2", "--kill-wait=0"}, "true");
        EXPECT_THAT(ran.err, Not(HasSubstr("cannot be ended"))) << function;
        EXPECT_EQ(run_elan({}, "true").code, 0) << "and the next run has a clean box";
        const auto report = mock({"report"});
        EXPECT_EQ(report.out, "nothing is left\n")
            << shape << " " << function << " " << when << "\n"
            << ran.err;
        mock({"reset"});
      }
    }
  }
}

TEST_F(ElanFaults, ADamagedStateFileIsRebuilt) {
  ASSERT_EQ(run_elan({}, "true").code, 0);
  for (const auto* file : {"qsw_state", "qsw_state.old"}) {
    write_file(state_dir() + "/" + file, "damaged");
  }

  const auto ran = run_elan({"-N2", "-n2"}, "true");

  EXPECT_EQ(ran.code, 0) << ran.err;
  expect_nothing_left();
}

TEST_F(ElanFaults, EscapeesOfTheTrackerBelongToTheProgramStill) {
  const auto ran = run_elan({"-v"}, "mkfifo " + dir() + "/up; setsid sh -c '(echo up >" + dir() +
                                        "/up; exec sleep 1000) &'; read line <" + dir() + "/up");

  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_THAT(ran.err, HasSubstr("survivors: 0\n"));
  expect_nothing_left();
}

}  // namespace
}  // namespace backplane_test
