// SPDX-License-Identifier: BSD-3-Clause
// Attempts to outlive SIGKILL: what a process group holds, and what leaves it. Source: proctrack
// sheet 4.8, column pgid; the rows that stand here are those that no other file tests.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/backends/linux_support.h"

namespace hal::linux_host {
namespace {

using conformance::Channel;
using conformance::process_state;
using conformance::succeeds;
using conformance::TestProcess;
using testing::AnyOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

constexpr uid_t kUser = 65534;

/// Ends what came to the test as an orphan.
void end_orphan(pid_t pid) {
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
}

/// In a started process: a new user and process namespace for what is forked next.
bool enter_pid_namespace() {
  return ::unshare(CLONE_NEWPID) == 0 || ::unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
}

class PgidEscape : public PgidTest {
 protected:
  /// A child of a task leaves; then the aggregate is killed.
  void expect_escape(int (*leave)()) {
    TestProcess task([leave](Channel& channel) {
      static_cast<void>(channel.receive());
      const pid_t child = ::fork();
      if (child != 0) return;
      leave();
      channel.send(::getpid());
      conformance::park();
    });
    const auto id = create();
    ASSERT_TRUE(succeeds(add_task(id, task)));
    task.channel().send(0);
    const auto escapee = static_cast<pid_t>(task.channel().receive());

    EXPECT_THAT(members(id), Not(Contains(escapee)));
    EXPECT_EQ(aggregate_->find(escapee), kNoContainer);
    ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

    EXPECT_EQ(task.reap(), SIGKILL);
    EXPECT_THAT(process_state(escapee), AnyOf('R', 'S')) << "an escape is documented";
    EXPECT_THAT(std::string(aggregate_->weakness()), HasSubstr("setsid or setpgid"));
    end_orphan(escapee);
  }
};

TEST_P(PgidEscape, CheckA11_SetsidLeaves) {
  expect_escape([] { return static_cast<int>(::setsid()); });
}

TEST_P(PgidEscape, CheckA11_SetpgidLeaves) {
  expect_escape([] { return ::setpgid(0, 0); });
}

TEST_P(PgidEscape, CheckA11_ADoubleForkIsHeldUntilItCallsSetsid) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    if (::fork() != 0) return;
    const pid_t stays = ::fork();
    if (stays == 0) conformance::park();
    const pid_t leaves = ::fork();
    if (leaves == 0) {
      ::setsid();
      channel.send(::getpid());
      conformance::park();
    }
    channel.send(stays);
    ::_exit(0);  // both lose their parent
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  const auto one = static_cast<pid_t>(task.channel().receive());
  const auto other = static_cast<pid_t>(task.channel().receive());
  const bool first_left = ::getsid(one) == one;
  const pid_t leaver = first_left ? one : other;
  const pid_t stayer = first_left ? other : one;

  EXPECT_EQ(aggregate_->find(stayer), id);
  EXPECT_EQ(aggregate_->find(leaver), kNoContainer);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_THAT(process_state(stayer), AnyOf('\0', 'Z', 'X'));
  EXPECT_THAT(process_state(leaver), AnyOf('R', 'S'));
  end_orphan(leaver);
}

TEST_P(PgidEscape, CheckA11_ARootProcessInsideRefusesItsUsersKill) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have a member that its user may not signal";
  TestProcess task;  // stays root, as a program with the set-user-id bit does
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  TestProcess user([&](Channel& channel) {
    if (::setresuid(kUser, kUser, kUser) != 0) ::_exit(1);
    const auto killed = aggregate_->signal(id, SIGKILL);
    channel.send(killed ? 0 : killed.error().code);
    const auto waited = aggregate_->wait_empty(id, std::chrono::milliseconds{20});
    channel.send(waited ? 0 : waited.error().code);
  });

  EXPECT_EQ(user.channel().receive(), EPERM);
  EXPECT_EQ(user.channel().receive(), ETIMEDOUT) << "never success while it lives";
  EXPECT_TRUE(task.is_alive());
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience))) << "root may";
  EXPECT_EQ(task.reap(), SIGKILL);
}

TEST_P(PgidEscape, CheckA11_BesideARootProcessTheUsersOwnAreKilled) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have a member that its user may not signal";
  TestProcess root;
  TestProcess own([](Channel& channel) { channel.send(::setresuid(kUser, kUser, kUser)); });
  ASSERT_EQ(own.channel().receive(), 0);
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, root)));
  ASSERT_TRUE(succeeds(add_task(id, own)));

  TestProcess user([&](Channel& channel) {
    if (::setresuid(kUser, kUser, kUser) != 0) ::_exit(1);
    channel.send(aggregate_->signal(id, SIGKILL) ? 0 : 1);
    const auto waited = aggregate_->wait_empty(id, std::chrono::milliseconds{20});
    channel.send(waited ? 0 : waited.error().code);
  });

  EXPECT_EQ(user.channel().receive(), 0) << "at least one member got the signal";
  EXPECT_EQ(user.channel().receive(), ETIMEDOUT);
  EXPECT_EQ(own.reap(), SIGKILL);
  EXPECT_TRUE(root.is_alive());
}

TEST_P(PgidEscape, CheckA11_AChildProcessNamespaceIsHeldUnlessSetsid) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    if (!enter_pid_namespace()) {
      channel.send(0);
      return;
    }
    const pid_t first = ::fork();  // process 1 of the namespace
    if (first != 0) {
      channel.send(first);
      return;
    }
    if (::fork() == 0) conformance::park();  // a number of its own inside and outside
    conformance::park();
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  const auto inner = static_cast<pid_t>(task.channel().receive());
  if (inner == 0) GTEST_SKIP() << "process namespaces cannot be made here";
  ASSERT_TRUE(conformance::wait_until([&] { return members(id).size() == 3; }));

  EXPECT_THAT(members(id), Contains(inner));
  EXPECT_EQ(aggregate_->find(inner), id) << "by the number it has outside";
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_EQ(task.reap(), SIGKILL);
  EXPECT_THAT(process_state(inner), AnyOf('\0', 'Z', 'X'));
}

TEST_P(PgidEscape, CheckA11_AChildProcessNamespaceWithASessionOfItsOwnLeaves) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    if (!enter_pid_namespace()) {
      channel.send(0);
      return;
    }
    const pid_t first = ::fork();
    if (first == 0) {
      ::setsid();
      channel.send(1);
      conformance::park();
    }
    channel.send(first);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  const auto one = static_cast<pid_t>(task.channel().receive());
  if (one == 0) GTEST_SKIP() << "process namespaces cannot be made here";
  const auto other = static_cast<pid_t>(task.channel().receive());
  const pid_t inner = std::max(one, other);

  EXPECT_EQ(aggregate_->find(inner), kNoContainer);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_THAT(process_state(inner), AnyOf('R', 'S')) << "an escape is documented";
  end_orphan(inner);
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Linux, PgidEscape,
                         testing::Values(pgid("pgid", true), pgid("pgid_by_number", false)),
                         [](const auto& test) { return test.param.name; });

}  // namespace hal::linux_host
