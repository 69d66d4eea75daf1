// SPDX-License-Identifier: BSD-3-Clause
// Calls of many threads at once; run under the thread sanitizer too.
#include <atomic>
#include <cerrno>
#include <csignal>
#include <thread>

#include "tests/unit/backends/linux_support.h"

namespace hal::conformance {
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ProcessAggregateTest);
}  // namespace hal::conformance

namespace hal::linux_host {
namespace {

using conformance::Channel;
using conformance::succeeds;
using conformance::TestProcess;
using Pids = std::vector<pid_t>;

TEST_P(PgidTest, CheckA26_SixteenThreadsOnSixtyFourAggregates) {
  constexpr int kAggregates = 64;
  constexpr int kThreads = 16;
  constexpr int kRounds = 200 / kScale;
  std::vector<std::unique_ptr<TestProcess>> tasks;
  std::vector<ContainerId> ids;
  for (int i = 0; i < kAggregates; ++i) {
    tasks.push_back(std::make_unique<TestProcess>());
    ids.push_back(create());
    ASSERT_TRUE(succeeds(aggregate_->add(ids.back(), tasks.back()->pid(), step_)));
  }
  std::atomic<int> faults{0};
  const auto work = [&](int number) {
    for (int round = 0; round < kRounds; ++round) {
      const auto at = static_cast<std::size_t>((number * 7 + round) % kAggregates);
      const pid_t pid = tasks[at]->pid();
      if (aggregate_->find(pid) != ids[at]) ++faults;
      if (!aggregate_->add(ids[at], pid, step_)) ++faults;
      if (!aggregate_->signal(ids[at], round % 2 == 0 ? 0 : SIGCONT)) ++faults;
      const auto pids = aggregate_->pids(ids[at]);
      if (!pids || *pids != Pids{pid}) ++faults;
      const auto mine = aggregate_->create(step_);
      if (!mine || aggregate_->add(*mine, pid, step_)) ++faults;
      if (!aggregate_->wait_empty(*mine, std::chrono::milliseconds{0})) ++faults;
      if (!aggregate_->destroy(*mine)) ++faults;
    }
  };

  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) threads.emplace_back(work, i);
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(faults.load(), 0);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    EXPECT_TRUE(succeeds(aggregate_->wait_empty(ids[i], kPatience)));
  }
}

TEST_P(PgidTest, CheckA26_KillAddAndDestroyMeetInOneAggregate) {
  for (int round = 0; round < 40 / kScale; ++round) {
    TestProcess first;
    TestProcess second;
    TestProcess third;
    step_ = new_step();
    const auto id = create();
    ASSERT_TRUE(succeeds(add_task(id, first)));

    std::thread adder([&] {
      for (const auto* late : {&second, &third}) {
        const auto added = aggregate_->add(id, late->pid(), step_);
        EXPECT_TRUE(added || added.error().code == EBUSY || added.error().code == ESRCH)
            << added.error().detail;
      }
    });
    std::thread waiter([&] {
      const auto waited = aggregate_->wait_empty(id, kPatience);
      EXPECT_TRUE(waited || waited.error().code == ESRCH) << "destroyed before it began";
    });
    std::thread destroyer([&] { EXPECT_TRUE(succeeds(aggregate_->destroy(id))); });
    for (auto* thread : {&adder, &waiter, &destroyer}) thread->join();

    EXPECT_EQ(aggregate_->find(first.pid()), kNoContainer);
    EXPECT_TRUE(succeeds(aggregate_->destroy(id)));
  }
}

TEST_P(PgidTest, CheckA27_ForksAmongBusyThreadsDoNotHang) {
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  std::atomic<bool> stop{false};
  const auto work = [&] {
    while (!stop) {
      const auto mine = aggregate_->create(step_);
      static_cast<void>(aggregate_->find(task.pid()));
      static_cast<void>(aggregate_->destroy(*mine));
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(work);

  for (int i = 0; i < 200 / kScale; ++i) {
    TestProcess child([&](Channel& channel) {
      const bool found = aggregate_->find(task.pid()) == id;
      const auto pids = aggregate_->pids(id);
      const auto mine = aggregate_->create(step_);
      channel.send(found && pids && *pids == Pids{task.pid()} && mine ? 1 : 0);
    });
    ASSERT_EQ(child.channel().receive(), 1);
  }

  stop = true;
  for (auto& thread : threads) thread.join();
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(Linux, PgidTest,
                         testing::Values(pgid("pgid", true), pgid("pgid_by_number", false)),
                         [](const auto& test) { return test.param.name; });

}  // namespace hal::linux_host
