// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/mocks/elan/mock_control.h"
#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

constexpr const char* kQuick = "term_grace_ms = 20\ndestroy_wait_ms = 3000\nopen_wait_ms = 100\n";

/// Runs `body` in a child with a time limit; its value is the exit code.
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  return child;
}

int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

class ElanStep : public testing::Test {
 protected:
  void SetUp() override {
    site_.host.set_node("n0");
    auto mock = backplane_mock::ElanMock::open(site_.mock_state());
    ASSERT_TRUE(mock);
    mock_.emplace(*std::move(mock));
  }

  /// The whole order of one node, with the document's three kinds of processes. 0, or the step at
  /// which it failed.
  [[nodiscard]] int run_step(switch_jobinfo_t job, uid_t pgid_to_pass = 0) const {
    if (plugin_.job_preinit(job) != 0) return 1;
    const pid_t session = start([&] {
      if (plugin_.job_init(job, ::getuid()) != 0) return 2;
      std::vector<pid_t> tasks;
      for (std::uint32_t i = 0; i < 2; ++i)
        tasks.push_back(start([&] { return run_task(job, i); }));
      int worst = 0;
      for (const pid_t task : tasks) worst = std::max(worst, exit_code(task));
      if (plugin_.job_fini(job) != 0) return 4;
      return worst;
    });
    const int outcome = exit_code(session);
    const uid_t pgid = pgid_to_pass != 0 ? pgid_to_pass : static_cast<uid_t>(session);
    if (plugin_.job_postfini(job, pgid, 1, 0) != 0) return 5;
    return outcome;
  }

  [[nodiscard]] int run_task(switch_jobinfo_t job, std::uint32_t local_id) const {
    TestEnvironment environment({"A=1", "RMS_RANK=99"});
    if (plugin_.job_attach(job, environment.get(), 0, local_id, 1, 2, local_id) != 0) return 3;
    const auto variables = environment.variables();
    const bool kept = variables[0] == "A=1";
    const bool replaced = variables[1] == "RMS_RANK=" + std::to_string(local_id);
    const bool once = std::ranges::count_if(variables, [](const std::string& variable) {
                        return variable.starts_with("RMS_RANK=");
                      }) == 1;
    return kept && replaced && once && variables.size() > 5 ? 0 : 6;
  }

  [[nodiscard]] int calls_of(std::string_view function) const {
    const auto trace = mock_->trace();
    return static_cast<int>(
        std::ranges::count_if(trace, [&](const auto& call) { return call.function == function; }));
  }

  ElanSite site_{4, kQuick};
  std::optional<backplane_mock::ElanMock> mock_;
  SwitchPlugin plugin_{kElanPlugin};
};

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

TEST_F(ElanStep, Check21_AChildOfABusyDaemonRunsItsStep) {
  switch_jobinfo_t job = plugin_.built("n0", 2);
  ASSERT_EQ(plugin_.node_init(), 0);
  std::atomic<bool> stop{false};
  std::vector<std::jthread> daemon;
  for (int i = 0; i < 8; ++i) {
    daemon.emplace_back([&] {  // what RPC threads of a node daemon do: registration, messages
      while (!stop) {
        switch_node_info_t info = nullptr;
        TestBuffer buffer;
        (void)plugin_.alloc_node_info(&info);
        (void)plugin_.build_node_info(info);
        (void)plugin_.pack_node_info(info, buffer.get());
        (void)plugin_.free_node_info(&info);
        switch_jobinfo_t other = plugin_.copy_jobinfo(job);
        TestBuffer message;
        (void)plugin_.pack_jobinfo(other, message.get());
        message.rewind();
        (void)plugin_.unpack_jobinfo(other, message.get());
        plugin_.free_jobinfo(other);
      }
    });
  }

  for (int round = 0; round < 20; ++round) {
    const pid_t manager = start([&] { return run_step(job); });
    ASSERT_EQ(exit_code(manager), 0) << "round " << round;
  }

  stop = true;
  daemon.clear();
  EXPECT_TRUE(mock_->leaks().empty());
  EXPECT_EQ(plugin_.node_fini(), 0);
  plugin_.free_jobinfo(job);
}

/// A step that is in the middle of its life: tasks attached and waiting.
class RunningStep {
 public:
  RunningStep(const SwitchPlugin& plugin, switch_jobinfo_t job) : plugin_(plugin), job_(job) {
    if (::pipe(ready_) != 0 || ::pipe(go_) != 0) ADD_FAILURE() << "no pipe";
    manager_ = start([&] { return manage(); });
    ::close(ready_[1]);
    ::close(go_[0]);
    char byte = 0;
    EXPECT_EQ(::read(ready_[0], &byte, 1), 1) << "the step did not start";
  }
  ~RunningStep() {
    ::close(ready_[0]);
    ::close(go_[1]);
  }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

  /// Lets the task end and the managers clean up. @return 0, or the step that failed.
  [[nodiscard]] int finish() {
    ::close(go_[1]);
    go_[1] = -1;
    return exit_code(manager_);
  }

 private:
  int manage() {
    ::close(ready_[0]);
    ::close(go_[1]);
    if (plugin_.job_preinit(job_) != 0) return 1;
    const pid_t session = start([&] {
      if (plugin_.job_init(job_, ::getuid()) != 0) return 2;
      TestEnvironment environment({});
      const pid_t task = start([&] {
        if (plugin_.job_attach(job_, environment.get(), 0, 0, 1, 1, 0) != 0) return 3;
        char byte = 1;
        if (::write(ready_[1], &byte, 1) != 1) return 4;
        return ::read(go_[0], &byte, 1) == 0 ? 0 : 5;
      });
      const int outcome = exit_code(task);
      return plugin_.job_fini(job_) == 0 ? outcome : 6;
    });
    const int outcome = exit_code(session);
    return plugin_.job_postfini(job_, static_cast<uid_t>(session), 1, 0) == 0 ? outcome : 7;
  }

  const SwitchPlugin& plugin_;
  switch_jobinfo_t job_;
  int ready_[2] = {-1, -1};
  int go_[2] = {-1, -1};
  pid_t manager_ = 0;
};

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
