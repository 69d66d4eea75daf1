// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <csignal>
#include <gmock/gmock.h>

#include "tests/unit/backends/elan_node_fixture.h"

namespace hal::elan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ElanDestroyTest : public ElanNodeTest {
 protected:
  [[nodiscard]] std::vector<std::string> signals() {
    std::vector<std::string> sent;
    for (const TracedCall& call : mock_->trace()) {
      if (call.function == "rms_prgsignal") {
        sent.push_back(call.arguments.substr(call.arguments.rfind('=') + 1));
      }
    }
    return sent;
  }

  /// One process that prepares, opens and destroys; its task attached and waits for a signal.
  [[nodiscard]] std::unique_ptr<Child> single_manager(bool ignores_term) {
    auto manager = std::make_unique<Child>([&, ignores_term](Child& self) {
      if (!node_->prepare(step_) || !node_->open_context(step_, ::getuid())) return 1;
      const pid_t task = ::fork();
      if (task == 0) {
        if (ignores_term) ::signal(SIGTERM, SIG_IGN);
        self.tell_number(node_->attach(step_, task_place(0)) ? ::getpid() : -1);
        while (true) ::pause();
      }
      if (self.hear() == 's' && !node_->suspend(step_)) return 2;
      ::signal(SIGCHLD, SIG_IGN);  // stragglers need no wait
      const auto destroyed = node_->destroy_context(step_, {});
      self.tell_number(destroyed ? 1 : destroyed.error().code);
      self.hear();
      return 0;
    });
    task_ = manager->hear_number();
    return manager;
  }
};

TEST_F(ElanDestroyTest, Check16_StragglersGetTermThenKill) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task(/*ignores_term=*/true);
  ASSERT_GT(task_, 0);
  session->tell();
  session->wait();

  const auto destroyed = node_->destroy_context(step_, {});

  ASSERT_TRUE(destroyed) << destroyed.error().detail;
  EXPECT_EQ(signals().front(), "15");
  EXPECT_EQ(signals().back(), "9");
  reap_orphans();
  expect_nothing_left();
}

TEST_F(ElanDestroyTest, Check16_TermIsEnoughForMost) {
  options_["term_grace_ms"] = "60000";
  node_ = node();
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task();
  session->tell();
  session->wait();

  ASSERT_TRUE(node_->destroy_context(step_, {}));

  EXPECT_THAT(signals(), ElementsAre("15"));
  reap_orphans();
  expect_nothing_left();
}

TEST_F(ElanDestroyTest, Check16_GivesUpAfterTheBound) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task();
  session->tell();
  session->wait();
  mock_->set_option("ignore_term", 1'000'000);
  mock_->set_option("ignore_kill", 1'000'000);
  host_.real_time_ = false;

  const auto refused = node_->destroy_context(step_, {});

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::timed_out);
  EXPECT_EQ(refused.error().code, kChildrenProgramDestroy);
  mock_->set_option("ignore_kill", 0);
  host_.real_time_ = true;
  EXPECT_TRUE(node_->destroy_context(step_, {})) << "later it works";
  reap_orphans();
  expect_nothing_left();
}

TEST_F(ElanDestroyTest, Check16_NothingToDestroy) {
  EXPECT_TRUE(node_->destroy_context(step_, {}));

  mock_->set_option("unknown_program_errno", EEXIST);
  EXPECT_TRUE(node_->destroy_context(step_, {})) << "the answer of other modules";
  EXPECT_TRUE(signals().empty());
}

TEST_F(ElanDestroyTest, Check16_NotRootIsAnError) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = this->session();
  session->tell();
  session->wait();
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);

  const auto refused = node_->destroy_context(step_, {});

  ::setenv("BACKPLANE_MOCK_UID", "0", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::no_permission);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
}

// One manager is a member itself: it must survive, and the program goes when it does.
TEST_F(ElanDestroyTest, Check16_OneManagerEndsItsStragglersAndLives) {
  const auto manager = single_manager(/*ignores_term=*/true);
  ASSERT_GT(task_, 0);
  manager->tell();

  EXPECT_EQ(manager->hear_number(), 1) << "destroy_context failed or the manager died";
  EXPECT_NE(::kill(task_, 0), 0) << "the straggler lives";
  EXPECT_FALSE(mock_->attach_check(5, capability(0x400))) << "the capability lives";

  manager->tell();
  EXPECT_EQ(manager->wait(), 0);
  reap_orphans();
  expect_nothing_left();
}

TEST_F(ElanDestroyTest, Check16_WatcherCleansUpAfterAKilledManager) {
  const auto manager = single_manager(/*ignores_term=*/true);
  ASSERT_GT(task_, 0);

  EXPECT_EQ(manager->kill_and_wait(), 128 + SIGKILL);
  reap_orphans();

  expect_nothing_left();
}

TEST_F(ElanDestroyTest, Check16_WatcherStaysWhileTheManagerLives) {
  const auto manager = single_manager(/*ignores_term=*/false);
  ASSERT_GT(task_, 0);
  manager->tell();
  ASSERT_EQ(manager->hear_number(), 1);

  EXPECT_EQ(mock_->leaks().size(), 1U) << "the program, of which the manager is a member";
  EXPECT_THAT(mock_->leaks().front(), HasSubstr("program"));
  EXPECT_EQ(count_calls("rms_prgdestroy"), 0);
  manager->tell();
  manager->wait();
  reap_orphans();
  expect_nothing_left();
}

TEST_F(ElanDestroyTest, ClearDestroysWhatWasLeft) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task(/*ignores_term=*/true);
  session->tell();
  session->wait();

  ASSERT_TRUE(node_->clear());

  reap_orphans();
  expect_nothing_left();
  EXPECT_TRUE(node_->clear()) << "again";
}

TEST_F(ElanDestroyTest, SuspendStopsTasksAndResumeGoesOn) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task();
  ASSERT_GT(task_, 0);

  ASSERT_TRUE(node_->suspend(step_));
  ASSERT_TRUE(node_->resume(step_));

  EXPECT_EQ(count_calls("rms_prgsuspend"), 1);
  EXPECT_EQ(count_calls("rms_prgresume"), 1);
  session->tell();
  session->wait();
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  EXPECT_EQ(code_of(node_->suspend(step_)), kSearchProgramSignal);
}

TEST_F(ElanDestroyTest, SuspendByAMemberDoesNotStopItself) {
  const auto manager = single_manager(/*ignores_term=*/false);
  ASSERT_GT(task_, 0);

  manager->tell('s');

  EXPECT_EQ(manager->hear_number(), 1);
  EXPECT_EQ(count_calls("rms_prgsuspend"), 0);
  manager->tell();
  EXPECT_EQ(manager->wait(), 0);
  reap_orphans();
  expect_nothing_left();
}

}  // namespace
}  // namespace hal::elan::test
