// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/unit/backends/linux_support.h"

namespace hal::linux_host {
namespace {

using conformance::Channel;
using conformance::open_descriptors;
using conformance::succeeds;
using conformance::TestProcess;
using conformance::wait_until;
using Pids = std::vector<pid_t>;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr int kScale = 10;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
constexpr int kScale = 10;  // each fork copies shadow memory
#else
constexpr int kScale = 1;
#endif
#else
constexpr int kScale = 1;
#endif

/// How many processes the user of this test may have on top, up to `wanted`.
int affordable(int wanted) {
  rlimit limit{};
  ::getrlimit(RLIMIT_NPROC, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min(wanted, static_cast<int>(limit.rlim_cur / 4));
}

TEST_P(PgidTest, CheckA18_ThousandsOfMembers) {
  const int count = affordable(5000 / kScale);
  ASSERT_GT(count, 100);
  TestProcess task([count](Channel& channel) {
    static_cast<void>(channel.receive());
    for (int i = 1; i < count; ++i) conformance::fork_parked();
    channel.send(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  static_cast<void>(task.channel().receive());

  auto held = members(id);

  EXPECT_EQ(held.size(), static_cast<std::size_t>(count));
  EXPECT_EQ(std::adjacent_find(held.begin(), held.end()), held.end()) << "listed twice";
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  task.reap();
  while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;
}

TEST_P(PgidTest, CheckA18_ListingWhileProcessesComeAndGo) {
  const auto churn = [](Channel& channel) {
    static_cast<void>(channel.receive());
    channel.send(0);
    while (true) {
      const pid_t child = ::fork();
      if (child == 0) ::_exit(0);
      if (child > 0) ::waitpid(child, nullptr, 0);
    }
  };
  TestProcess task(churn);
  TestProcess bystander(churn);
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  for (auto* process : {&task, &bystander}) {
    process->channel().send(0);
    static_cast<void>(process->channel().receive());
  }

  for (int i = 0; i < 200; ++i) {
    const auto held = members(id);
    ASSERT_TRUE(std::binary_search(held.begin(), held.end(), task.pid()));
    ASSERT_FALSE(std::binary_search(held.begin(), held.end(), bystander.pid()));
    ASSERT_LE(held.size(), 2U) << "at most the task and its child of the moment";
  }
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
}

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

TEST_P(PgidTest, CheckA29_ThousandCyclesLeaveNoDescriptor) {
  const auto cycle = [this] {
    TestProcess task;
    step_ = new_step();
    const auto id = create();
    if (!add_task(id, task) || !aggregate_->signal(id, 0) || !aggregate_->pids(id)) return false;
    const bool done = aggregate_->wait_empty(id, kPatience).has_value();
    return done && aggregate_->destroy(id).has_value();
  };
  ASSERT_TRUE(cycle());
  const auto before = open_descriptors();

  for (int i = 0; i < 1000 / kScale; ++i) ASSERT_TRUE(cycle());

  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(PgidTest, ManyGroupsOfOneAggregateDoNotPileUp) {
  const auto id = create();
  TestProcess keeper;
  ASSERT_TRUE(succeeds(aggregate_->add(id, keeper.pid(), step_)));
  const auto before = open_descriptors().size();

  for (int i = 0; i < 500 / kScale; ++i) {
    TestProcess guest;
    ASSERT_TRUE(succeeds(aggregate_->add(id, guest.pid(), step_)));
  }

  EXPECT_LE(open_descriptors().size(), before + 40) << "groups that ended are forgotten";
  EXPECT_EQ(members(id), Pids{keeper.pid()});
}

}  // namespace
}  // namespace hal::linux_host
