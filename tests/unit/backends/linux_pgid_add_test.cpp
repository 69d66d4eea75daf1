// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <random>
#include <set>
#include <unistd.h>

#include "backends/linux/procfs.h"
#include "tests/unit/backends/linux_support.h"

namespace hal::linux_host {
namespace {

using conformance::Channel;
using conformance::fails_with;
using conformance::kAbsentPid;
using conformance::succeeds;
using conformance::TestProcess;
using testing::IsEmpty;
using Pids = std::vector<pid_t>;

/// A kernel thread that this PID namespace shows, or 0.
pid_t some_kernel_thread() {
  const auto proc = ProcFs::open();
  if (!proc) return 0;
  PidScan scan(*proc);
  while (const pid_t pid = scan.next()) {
    const auto stat = proc->find(pid);
    if (stat && stat->is_kernel_thread()) return pid;
  }
  return 0;
}

TEST_P(PgidTest, CheckA03_IdsAreDistinctAndFitNoProcessNumber) {
  std::set<std::uint64_t> seen;

  for (int i = 0; i < 10'000; ++i) {
    const auto id = create();
    EXPECT_GT(to_number(id), 0xffffffffU);
    EXPECT_LT(to_number(id), ~std::uint64_t{0});
    seen.insert(to_number(id));
    ASSERT_TRUE(succeeds(aggregate_->destroy(id)));
  }

  EXPECT_EQ(seen.size(), 10'000U);
}

TEST_P(PgidTest, CheckA05_KernelThreadsAreRefused) {
  const pid_t thread = some_kernel_thread();
  if (thread == 0) GTEST_SKIP() << "this PID namespace has no kernel threads";
  const auto id = create();

  EXPECT_TRUE(fails_with(aggregate_->add(id, thread, step_), Errc::invalid_argument, EINVAL));

  EXPECT_THAT(members(id), IsEmpty());
}

TEST_P(PgidTest, CheckA05_AThreadIsNoProcess) {
  TestProcess task([](Channel& channel) {
    conformance::leave_only_a_thread([&channel] { channel.send(::gettid()); });
  });
  const auto thread = static_cast<pid_t>(task.channel().receive());
  const auto id = create();

  EXPECT_TRUE(fails_with(aggregate_->add(id, thread, step_), Errc::invalid_argument, EINVAL));
  EXPECT_TRUE(succeeds(add_task(id, task)));
  EXPECT_EQ(aggregate_->find(thread), kNoContainer) << "has_pid and get_pids must agree";
}

TEST_P(PgidTest, CheckA05_OneThatCannotBeMovedStaysWhereItIs) {
  TestProcess leader;
  ASSERT_EQ(::setpgid(leader.pid(), leader.pid()), 0);
  TestProcess stranger([](Channel& channel) {
    const pid_t child = conformance::fork_parked();  // no child of the test: cannot be moved
    channel.send(child);
  });
  const auto grandchild = static_cast<pid_t>(stranger.channel().receive());
  const pid_t before = ::getpgid(grandchild);
  step_.process_group = leader.pid();
  const auto id = create();

  const auto added = aggregate_->add(id, grandchild, step_);

  ASSERT_TRUE(fails_with(added, Errc::invalid_argument, EINVAL));
  EXPECT_THAT(added.error().detail, testing::HasSubstr("before it calls exec"));
  EXPECT_EQ(::getpgid(grandchild), before);
  EXPECT_THAT(members(id), IsEmpty());
}

TEST_P(PgidTest, CheckA05_OfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have a process that others may not signal";
  TestProcess leader;
  ASSERT_EQ(::setpgid(leader.pid(), leader.pid()), 0);

  TestProcess user([&](Channel& channel) {
    if (::setresuid(65534, 65534, 65534) != 0) channel.send(-1);
    const auto id = aggregate_->create(step_);
    const auto added = aggregate_->add(*id, leader.pid(), step_);
    channel.send(added ? 0 : added.error().code);
  });

  EXPECT_EQ(user.channel().receive(), EPERM);
}

TEST_P(PgidTest, CheckA06_AddTwiceIsOneEntry) {
  TestProcess task;
  const auto id = create();

  for (int i = 0; i < 3; ++i) ASSERT_TRUE(succeeds(add_task(id, task)));

  EXPECT_EQ(members(id), Pids{task.pid()});
}

TEST_P(PgidTest, CheckA07_TheGroupOfAnotherAggregateIsBusy) {
  TestProcess first;
  TestProcess second;
  const auto one = create();
  const auto two = create();
  ASSERT_TRUE(succeeds(add_task(one, first)));
  const pid_t before = ::getpgid(second.pid());

  // The record names a group that is the other aggregate's.
  EXPECT_TRUE(fails_with(aggregate_->add(two, second.pid(), step_), Errc::busy, EBUSY));

  EXPECT_EQ(::getpgid(second.pid()), before) << "nothing may move";
  EXPECT_EQ(aggregate_->find(second.pid()), kNoContainer);
}

TEST_P(PgidTest, AddMovesAChildIntoTheGroupOfTheStep) {
  TestProcess first;
  TestProcess second;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, first)));

  ASSERT_TRUE(succeeds(aggregate_->add(id, second.pid(), step_)));

  EXPECT_EQ(::getpgid(second.pid()), first.pid());
}

TEST_P(PgidTest, AddWithoutAGroupOfTheStepMakesOne) {
  TestProcess task;
  const auto id = create();

  ASSERT_TRUE(succeeds(aggregate_->add(id, task.pid(), step_)));

  EXPECT_EQ(::getpgid(task.pid()), task.pid());
  EXPECT_EQ(aggregate_->find(task.pid()), id);
}

TEST_P(PgidTest, AddWhenTheFirstTaskIsGoneMakesAGroup) {
  TestProcess second;
  step_.process_group = [] {
    TestProcess first;
    EXPECT_EQ(::setpgid(first.pid(), first.pid()), 0);
    return first.pid();
  }();
  const auto id = create();

  ASSERT_TRUE(succeeds(aggregate_->add(id, second.pid(), step_)));

  EXPECT_EQ(members(id), Pids{second.pid()});
}

TEST_P(PgidTest, CheckA25_NoGroupButAStepsIsEverHeld) {
  TestProcess task;
  TestProcess manager;
  ASSERT_EQ(::setpgid(manager.pid(), manager.pid()), 0);
  const pid_t before = ::getpgid(task.pid());
  const auto id = create();

  for (const pid_t group : {1, -1, -5, ::getpgrp(), manager.pid()}) {
    auto step = step_;
    step.manager_pid = manager.pid();
    step.process_group = group;
    EXPECT_TRUE(fails_with(aggregate_->add(id, task.pid(), step), Errc::invalid_argument, EINVAL))
        << group;
  }

  EXPECT_EQ(::getpgid(task.pid()), before);
  EXPECT_THAT(members(id), IsEmpty());
}

TEST_P(PgidTest, CheckA15_FindOfAZombieIsNone) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    ::_exit(0);
  });
  TestProcess second;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  ASSERT_TRUE(succeeds(add_task(id, second)));
  task.channel().send(0);
  task.wait_for_zombie();

  EXPECT_EQ(aggregate_->find(task.pid()), kNoContainer);
  task.reap();
  EXPECT_EQ(aggregate_->find(task.pid()), kNoContainer);
  EXPECT_EQ(aggregate_->find(second.pid()), id) << "the group outlives its leader";
}

TEST_P(PgidTest, CheckA16_FindAndPidsAgreeForRandomNumbers) {
  std::vector<std::unique_ptr<TestProcess>> tasks;
  const auto id = create();
  for (int i = 0; i < 20; ++i) {
    tasks.push_back(std::make_unique<TestProcess>());
    ASSERT_TRUE(succeeds(add_task(id, *tasks.back())));
  }
  const auto held = members(id);
  std::mt19937 random(1);
  std::uniform_int_distribution<pid_t> around(std::max(2, held.front() - 200), held.back() + 200);

  for (int i = 0; i < 10'000; ++i) {
    const pid_t pid = around(random);
    const bool member = std::binary_search(held.begin(), held.end(), pid);
    ASSERT_EQ(aggregate_->find(pid) == id, member) << pid;
  }
  EXPECT_EQ(held.size(), 20U);
}

}  // namespace
}  // namespace hal::linux_host
