// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <csignal>

#include "tests/unit/plugins/elan_step.h"

namespace hal::test {
namespace {

TEST_F(ElanStep, Check28_AWholeStepGivesTasksTheirVariablesAndLeavesNothing) {
  switch_jobinfo_t job = plugin_.built("n0", 2);

  EXPECT_EQ(run_step(job), 0);

  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  EXPECT_EQ(calls_of("rms_prgcreate"), 1);
  EXPECT_EQ(calls_of("rms_setcap"), 2);
  plugin_.free_jobinfo(job);
}

TEST_F(ElanStep, Check09_PostfiniWithoutInitAndGroupZeroHarmsNobody) {
  switch_jobinfo_t job = plugin_.built("n0", 2);
  const pid_t manager = start([&] {
    ::setpgid(0, 0);
    const pid_t bystander = start([] { return ::pause(); });
    if (plugin_.job_preinit(job) != 0) return 1;
    if (plugin_.job_postfini(job, 0, 1, 0) != 0) return 2;
    const bool alive = ::kill(bystander, 0) == 0 && ::waitpid(bystander, nullptr, WNOHANG) == 0;
    ::kill(bystander, SIGKILL);
    ::waitpid(bystander, nullptr, 0);
    return alive ? 0 : 3;
  });

  EXPECT_EQ(exit_code(manager), 0);
  EXPECT_TRUE(mock_->leaks().empty());
  plugin_.free_jobinfo(job);
}

TEST_F(ElanStep, Check10_AFailedPreinitLeavesNothing) {
  switch_jobinfo_t unbuilt = plugin_.allocate();

  EXPECT_EQ(plugin_.job_preinit(unbuilt), -1);

  EXPECT_EQ(errno, 3002);
  EXPECT_TRUE(mock_->leaks().empty());
  EXPECT_EQ(calls_of("rms_prgcreate"), 0);
  plugin_.free_jobinfo(unbuilt);
}

TEST_F(ElanStep, Check08_AFailedInitIsReportedAndUndone) {
  switch_jobinfo_t job = plugin_.built("n0", 2);
  for (const char* function :
       {"elanctrl_open", "elanctrl_create_cap", "rms_prgcreate", "rms_prgaddcap"}) {
    ASSERT_TRUE(mock_->inject(function, 1, EIO)) << function;

    EXPECT_EQ(run_step(job), 2) << function;

    EXPECT_TRUE(mock_->leaks().empty()) << function << ": " << mock_->leaks().front();
  }
  EXPECT_EQ(run_step(job), 0) << "and the node is usable again";
  plugin_.free_jobinfo(job);
}

TEST_F(ElanStep, Check04_WithoutTheVendorsLibrariesHardwareCallsFailInRange) {
  site_.host.set_config("[switch/elan]\nelanhosts = " + (site_.host.directory() / "elanhosts") +
                        "\nlibrmscall = /nonexistent/librmscall.so\n"
                        "libelanctrl = /nonexistent/libelanctrl.so\n");
  switch_jobinfo_t job = plugin_.built("n0", 2);
  ASSERT_EQ(plugin_.job_preinit(job), 0);

  EXPECT_EQ(plugin_.job_init(job, ::getuid()), -1);

  EXPECT_GE(plugin_.error_number(), 3000);
  EXPECT_LE(plugin_.error_number(), 3099);
  EXPECT_NE(plugin_.error_text(plugin_.error_number()), nullptr);
  plugin_.free_jobinfo(job);
}

TEST_F(ElanStep, Check22_NodeInitLeavesARunningStepAloneAndClearRemovesIt) {
  switch_jobinfo_t job = plugin_.built("n0", 1);
  RunningStep step(plugin_, job);
  const auto before = mock_->leaks();
  ASSERT_FALSE(before.empty());

  const pid_t daemon = start([&] { return plugin_.node_init() == 0 ? 0 : 1; });
  ASSERT_EQ(exit_code(daemon), 0);
  EXPECT_EQ(mock_->leaks(), before);
  const pid_t clean_start = start([&] { return plugin_.clear_node_state() == 0 ? 0 : 1; });
  ASSERT_EQ(exit_code(clean_start), 0);

  EXPECT_NE(step.finish(), 0) << "its task was ended";
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  plugin_.free_jobinfo(job);
}

TEST_F(ElanStep, Check23_PostfiniWorksAfterTheDaemonWasRestarted) {
  switch_jobinfo_t job = plugin_.built("n0", 1);
  ASSERT_EQ(plugin_.node_init(), 0);
  RunningStep step(plugin_, job);

  EXPECT_EQ(plugin_.node_fini(), 0);
  EXPECT_EQ(plugin_.fini(), 0);
  EXPECT_EQ(plugin_.init(), 0);
  EXPECT_EQ(plugin_.node_init(), 0);

  EXPECT_EQ(step.finish(), 0);
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  plugin_.free_jobinfo(job);
}

}  // namespace
}  // namespace hal::test
