// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/process_aggregate.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <set>
#include <unistd.h>

namespace hal::conformance {

testing::AssertionResult fails_with(const Result<>& result, Errc kind, int code) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  const auto& error = result.error();
  if (error.kind != kind || error.code != code || error.detail.empty()) {
    return testing::AssertionFailure()
           << "it failed as " << to_string(error.kind) << " " << error.code << ": " << error.detail;
  }
  return testing::AssertionSuccess();
}

void ProcessAggregateTest::SetUp() {
  inherited_ = open_descriptors();
  auto made = GetParam().make();
  ASSERT_TRUE(succeeds(made));
  aggregate_ = std::move(*made);
  step_ = new_step();
}

StepDescriptor ProcessAggregateTest::new_step() {
  StepDescriptor step;
  step.job = JobId{7};
  step.step = StepId{3};
  step.owner = ::geteuid();
  step.group = ::getegid();
  step.manager_pid = ::getpid();
  step.task_count = 1;
  return step;
}

ContainerId ProcessAggregateTest::create() {
  const auto id = aggregate_->create(step_);
  EXPECT_TRUE(succeeds(id));
  return id.value_or(kNoContainer);
}

Result<> ProcessAggregateTest::add_task(ContainerId id, const TestProcess& task) {
  if (step_.process_group == 0) step_.process_group = task.pid();
  if (::setpgid(task.pid(), step_.process_group) != 0) return fail_errno(errno, "setpgid");
  return aggregate_->add(id, task.pid(), step_);
}

std::vector<pid_t> ProcessAggregateTest::members(ContainerId id) {
  auto pids = aggregate_->pids(id);
  EXPECT_TRUE(succeeds(pids));
  if (!pids) return {};
  std::sort(pids->begin(), pids->end());
  return std::move(*pids);
}

namespace {

using testing::IsEmpty;
using Pids = std::vector<pid_t>;

const std::vector<ContainerId>& strange_ids() {
  static const std::vector<ContainerId> ids{ContainerId{1}, ContainerId{0x100000001U},
                                            ContainerId{~std::uint64_t{0}},
                                            ContainerId{static_cast<std::uint64_t>(::getpid())}};
  return ids;
}

pid_t ask(TestProcess& process) {
  process.channel().send(0);
  return static_cast<pid_t>(process.channel().receive());
}

/// Forks a child for each request and answers its number.
void fork_on_request(Channel& channel) {
  while (true) {
    static_cast<void>(channel.receive());
    channel.send(fork_parked());
  }
}

/// Answers each request: what was signalled before has been handled by then.
void count_and_answer(const SignalCounts& counts, Channel& channel) {
  counts.install();
  channel.send(0);
  while (true) {
    channel.send(channel.receive());
  }
}

TEST_P(ProcessAggregateTest, PA01_IdsAreDistinctAndNeverSpecial) {
  std::set<std::uint64_t> seen;

  for (int i = 0; i < 1000; ++i) {
    const auto id = create();
    seen.insert(to_number(id));
    ASSERT_TRUE(succeeds(aggregate_->destroy(id)));
  }

  EXPECT_EQ(seen.size(), 1000U);
  for (const auto id : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    EXPECT_FALSE(seen.contains(id)) << id;
  }
}

TEST_P(ProcessAggregateTest, PA02_AddAgainIsSuccessAndCountsOnce) {
  TestProcess task;
  const auto id = create();

  ASSERT_TRUE(succeeds(add_task(id, task)));
  EXPECT_TRUE(succeeds(aggregate_->add(id, task.pid(), step_)));

  EXPECT_EQ(members(id), Pids{task.pid()});
}

TEST_P(ProcessAggregateTest, PA03_SignalReachesEveryMemberOnceAndNobodyElse) {
  const SignalCounts first_counts;
  const SignalCounts second_counts;
  const SignalCounts other_counts;
  TestProcess first([&](Channel& channel) { count_and_answer(first_counts, channel); });
  TestProcess second([&](Channel& channel) { count_and_answer(second_counts, channel); });
  TestProcess bystander([&](Channel& channel) { count_and_answer(other_counts, channel); });
  for (auto* process : {&first, &second, &bystander}) {
    static_cast<void>(process->channel().receive());
  }
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, first)));
  ASSERT_TRUE(succeeds(add_task(id, second)));

  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGRTMIN)));
  ASSERT_TRUE(succeeds(aggregate_->signal(id, 0)));

  for (auto* process : {&first, &second, &bystander}) static_cast<void>(ask(*process));
  EXPECT_EQ(first_counts.of(SIGRTMIN), 1);
  EXPECT_EQ(second_counts.of(SIGRTMIN), 1);
  EXPECT_EQ(first_counts.total() + second_counts.total(), 2) << "signal 0 delivered something";
  EXPECT_EQ(other_counts.total(), 0);
}

TEST_P(ProcessAggregateTest, PA04_DestroyForgetsWithoutTouchingMembers) {
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  ASSERT_TRUE(succeeds(aggregate_->destroy(id)));

  EXPECT_TRUE(task.is_alive());
  EXPECT_TRUE(fails_with(aggregate_->signal(id, SIGKILL), Errc::not_found, ESRCH));
  EXPECT_TRUE(fails_with(aggregate_->pids(id), Errc::not_found, ESRCH));
  EXPECT_EQ(aggregate_->find(task.pid()), kNoContainer);
  EXPECT_TRUE(succeeds(aggregate_->destroy(id))) << "again";
  EXPECT_TRUE(succeeds(aggregate_->destroy(kNoContainer)));
  for (const auto strange : strange_ids()) {
    EXPECT_TRUE(fails_with(aggregate_->destroy(strange), Errc::not_found, ESRCH));
  }
  EXPECT_TRUE(task.is_alive());
}

TEST_P(ProcessAggregateTest, PA05_FindKnowsMembersAndOnlyThem) {
  TestProcess task(fork_on_request);
  TestProcess bystander;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  const pid_t child = ask(task);

  EXPECT_EQ(aggregate_->find(task.pid()), id);
  EXPECT_EQ(aggregate_->find(child), id);
  for (const pid_t pid : {bystander.pid(), ::getpid(), kAbsentPid, 0, -1, 1}) {
    EXPECT_EQ(aggregate_->find(pid), kNoContainer) << pid;
  }
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  task.reap();
  EXPECT_EQ(aggregate_->find(task.pid()), kNoContainer);
}

TEST_P(ProcessAggregateTest, PA06_PidsOfAnEmptyAggregateAreNone) {
  const auto id = create();

  EXPECT_THAT(members(id), IsEmpty());
  for (const auto strange : strange_ids()) {
    EXPECT_TRUE(fails_with(aggregate_->pids(strange), Errc::not_found, ESRCH));
  }
  EXPECT_TRUE(fails_with(aggregate_->pids(kNoContainer), Errc::not_found, ESRCH));
}

TEST_P(ProcessAggregateTest, PA06_PidsAreTheLiveMembers) {
  TestProcess task(fork_on_request);
  TestProcess brief([](Channel& channel) {
    static_cast<void>(channel.receive());
    ::_exit(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  ASSERT_TRUE(succeeds(add_task(id, brief)));
  Pids expected{task.pid(), ask(task), ask(task)};
  std::sort(expected.begin(), expected.end());
  brief.channel().send(0);
  brief.wait_for_zombie();

  EXPECT_EQ(members(id), expected) << "a zombie is no member";
}

TEST_P(ProcessAggregateTest, PA07_WaitKillsAndThenDestroys) {
  TestProcess task(fork_on_request);
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  const pid_t child = ask(task);

  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_EQ(task.reap(), SIGKILL);
  EXPECT_THAT(process_state(child), testing::AnyOf('\0', 'Z', 'X'));
  EXPECT_TRUE(fails_with(aggregate_->pids(id), Errc::not_found, ESRCH));
  EXPECT_TRUE(succeeds(aggregate_->destroy(id))) << "as hosts do that call both";
}

TEST_P(ProcessAggregateTest, PA07_ZombiesCountAsEmpty) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    ::_exit(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  task.wait_for_zombie();

  EXPECT_TRUE(fails_with(aggregate_->signal(id, 0), Errc::not_found, ESRCH));
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, std::chrono::milliseconds{0})));
}

TEST_P(ProcessAggregateTest, PA07_WaitRefusesIdsThatNameNothing) {
  const auto none = std::chrono::milliseconds{0};

  EXPECT_TRUE(
      fails_with(aggregate_->wait_empty(kNoContainer, none), Errc::invalid_argument, EINVAL));
  EXPECT_TRUE(
      fails_with(aggregate_->wait_empty(ContainerId{1}, none), Errc::invalid_argument, EINVAL));
  EXPECT_TRUE(fails_with(aggregate_->wait_empty(ContainerId{~std::uint64_t{0}}, none),
                         Errc::not_found, ESRCH));
  const auto id = create();
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, none))) << "empty from the start";
}

TEST_P(ProcessAggregateTest, PA08_AddRefusesWhatNoStepMayHold) {
  TestProcess task;
  TestProcess zombie([](Channel&) { ::_exit(0); });
  zombie.wait_for_zombie();
  TestProcess manager;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  const pid_t own_group = ::getpgrp();
  auto other_manager = step_;
  other_manager.manager_pid = manager.pid();

  for (const pid_t pid : {0, -1, -task.pid(), ::getpid()}) {
    EXPECT_TRUE(fails_with(aggregate_->add(id, pid, step_), Errc::invalid_argument, EINVAL)) << pid;
  }
  EXPECT_TRUE(fails_with(aggregate_->add(id, 1, step_), Errc::no_permission, EPERM));
  EXPECT_TRUE(fails_with(aggregate_->add(id, manager.pid(), other_manager), Errc::invalid_argument,
                         EINVAL));
  EXPECT_TRUE(fails_with(aggregate_->add(id, kAbsentPid, step_), Errc::not_found, ESRCH));
  EXPECT_TRUE(fails_with(aggregate_->add(id, zombie.pid(), step_), Errc::not_found, ESRCH));

  EXPECT_EQ(::getpgrp(), own_group);
  EXPECT_EQ(::getpgid(manager.pid()), own_group) << "something was moved";
  EXPECT_EQ(members(id), Pids{task.pid()});
}

TEST_P(ProcessAggregateTest, PA08_AddNeedsAnAggregate) {
  TestProcess task;
  step_.process_group = task.pid();
  ASSERT_EQ(::setpgid(task.pid(), task.pid()), 0);

  EXPECT_TRUE(
      fails_with(aggregate_->add(kNoContainer, task.pid(), step_), Errc::invalid_argument, EINVAL));
  for (const auto strange : strange_ids()) {
    EXPECT_TRUE(fails_with(aggregate_->add(strange, task.pid(), step_), Errc::not_found, ESRCH));
  }
}

TEST_P(ProcessAggregateTest, PA09_AProcessIsInOneAggregateOnly) {
  if (!GetParam().several_per_manager) GTEST_SKIP() << "one aggregate per manager by design";
  TestProcess task;
  const auto first = create();
  const auto second = create();
  ASSERT_TRUE(succeeds(add_task(first, task)));

  EXPECT_TRUE(fails_with(aggregate_->add(second, task.pid(), step_), Errc::busy, EBUSY));

  EXPECT_EQ(aggregate_->find(task.pid()), first);
  EXPECT_THAT(members(second), IsEmpty());
  ASSERT_TRUE(succeeds(aggregate_->destroy(first)));
  EXPECT_TRUE(succeeds(aggregate_->add(second, task.pid(), step_))) << "free again";
}

}  // namespace
}  // namespace hal::conformance
