// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
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
