// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <gmock/gmock.h>
#include <random>
#include <string>

#include "tests/unit/plugins/proctrack_plugin.h"

namespace hal::test {
namespace {

class BothNames : public testing::TestWithParam<const char*> {
 protected:
  TestHost host_;
  Proctrack plugin_{GetParam()};
};

TEST_P(BothNames, TracksATaskFromCreateToWait) {
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  pid_t* pids = nullptr;
  int count = -1;

  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();
  ASSERT_GT(id, 1U);
  EXPECT_EQ(plugin_.get_pids(id, &pids, &count), 0);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(pids, nullptr) << "point 5: no member, no block";
  ASSERT_EQ(plugin_.add(record.get(), task.pid()), 0);
  EXPECT_EQ(plugin_.find(task.pid()), id);
  EXPECT_TRUE(plugin_.has_pid(id, task.pid()));
  EXPECT_FALSE(plugin_.has_pid(id, ::getpid()));
  EXPECT_EQ(plugin_.signal(id, 0), 0);
  ASSERT_EQ(plugin_.get_pids(id, &pids, &count), 0);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(pids[0], task.pid());
  EXPECT_EQ(host_block_size(pids), sizeof(pid_t)) << "point 5: a block that the host can free";
  free_host_block(pids);
  EXPECT_EQ(plugin_.signal(id, SIGKILL), 0);
  EXPECT_EQ(WTERMSIG(task.wait_status()), SIGKILL);
  EXPECT_EQ(plugin_.wait(id), 0);
  EXPECT_EQ(plugin_.signal(id, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_P(BothNames, Point10_WaitDestroysAndDestroyIsIdempotent) {
  StepRecord record;
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();

  EXPECT_EQ(plugin_.wait(id), 0);
  EXPECT_EQ(plugin_.destroy(id), 0);
  EXPECT_EQ(plugin_.destroy(id), 0);
  EXPECT_EQ(plugin_.wait(id), 0) << "wait after destroy";
  EXPECT_EQ(plugin_.destroy(0), 0);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{1}}) {
    EXPECT_EQ(plugin_.wait(none), -1);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_P(BothNames, CheckA04_ASecondCreateSaysSoAndKeepsTheContainer) {
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();
  ASSERT_EQ(plugin_.add(record.get(), task.pid()), 0);
  (void)TestHost::take_log();

  EXPECT_EQ(plugin_.create(record.get()), 0);

  EXPECT_EQ(record.container(), id);
  EXPECT_THAT(TestHost::take_log(), testing::ElementsAre(testing::HasSubstr(std::to_string(id))));
  EXPECT_EQ(plugin_.find(task.pid()), id) << "its member is still in it";
  EXPECT_EQ(plugin_.destroy(id), 0);
}

TEST_P(BothNames, CheckA08_WhatNamesNoContainerIsRefusedWithItsReason) {
  StepRecord record;
  Task bystander;
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto empty = record.container();
  const auto group = static_cast<std::uint64_t>(bystander.pid());

  for (const std::uint64_t id : {empty, std::uint64_t{0}, std::uint64_t{1}, group,
                                 std::uint64_t{0x100000001}, ~std::uint64_t{0}}) {
    for (const int number : {0, SIGTERM, SIGKILL}) {
      errno = 0;
      EXPECT_EQ(plugin_.signal(id, number), -1) << id;
      EXPECT_EQ(errno, ESRCH) << id;
    }
  }
  for (const int number : {-1, 65, 0x7fffffff}) {
    EXPECT_EQ(plugin_.signal(empty, number), -1);
    EXPECT_EQ(errno, EINVAL) << "A9: no signal " << number;
  }
  EXPECT_EQ(::waitpid(bystander.pid(), nullptr, WNOHANG), 0) << "it lives";
}

TEST_P(BothNames, CheckA16_HasPidAgreesWithFind) {
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  ASSERT_EQ(plugin_.create(record.get()), 0);
  ASSERT_EQ(plugin_.add(record.get(), task.pid()), 0);
  const auto id = record.container();
  std::mt19937 random(16);
  std::uniform_int_distribution<pid_t> around(std::max(2, task.pid() - 300), task.pid() + 300);

  int members = 0;
  for (int i = 0; i < 10'000; ++i) {
    const pid_t pid = i == 0 ? task.pid() : around(random);
    const bool member = plugin_.has_pid(id, pid);
    ASSERT_EQ(plugin_.find(pid), member ? id : 0) << pid;
    ASSERT_EQ(member, pid == task.pid()) << pid;
    members += member ? 1 : 0;
  }
  EXPECT_GE(members, 1);
  StepRecord other;
  ASSERT_EQ(plugin_.create(other.get()), 0);
  EXPECT_FALSE(plugin_.has_pid(other.container(), task.pid())) << "it is in the first one";
  EXPECT_FALSE(plugin_.has_pid(0, ::getpid()));
  EXPECT_EQ(plugin_.destroy(other.container()), 0);
  EXPECT_EQ(plugin_.destroy(id), 0);
}

TEST_P(BothNames, CheckA21_DestroyTouchesNoMemberAndKnowsWhatItNeverMade) {
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();
  ASSERT_EQ(plugin_.add(record.get(), task.pid()), 0);

  EXPECT_EQ(plugin_.destroy(id), 0);

  EXPECT_EQ(::waitpid(task.pid(), nullptr, WNOHANG), 0) << "its member lives";
  EXPECT_EQ(plugin_.find(task.pid()), 0U);
  EXPECT_FALSE(plugin_.has_pid(id, task.pid()));
  EXPECT_EQ(plugin_.signal(id, SIGKILL), -1);
  EXPECT_EQ(errno, ESRCH);
  EXPECT_EQ(plugin_.destroy(id), 0);
  EXPECT_EQ(plugin_.destroy(0), 0) << "hosts clean up what they never created";
  for (const std::uint64_t never : {std::uint64_t{1}, id + 1000, ~std::uint64_t{0}}) {
    EXPECT_EQ(plugin_.destroy(never), -1);
    EXPECT_EQ(errno, ESRCH) << never;
  }
}

TEST_P(BothNames, RefusesWhatIsNoContainerAndNoRecord) {
  StepRecord empty;
  StepRecord unknown(8, 470);
  pid_t* pids = reinterpret_cast<pid_t*>(&empty);
  int count = 5;

  EXPECT_EQ(plugin_.create(nullptr), -1);
  EXPECT_EQ(plugin_.create(unknown.get()), -1);
  EXPECT_EQ(errno, ENOTSUP);
  EXPECT_EQ(plugin_.add(empty.get(), ::getpid()), -1) << "create comes first";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(plugin_.find(-1), 0U);
  EXPECT_EQ(plugin_.find(1), 0U);
  EXPECT_FALSE(plugin_.has_pid(0, ::getpid()));
  EXPECT_EQ(plugin_.get_pids(424242, &pids, &count), -1);
  EXPECT_EQ(pids, nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(plugin_.get_pids(424242, nullptr, &count), -1);
  EXPECT_EQ(plugin_.signal(0, SIGKILL), -1);
  EXPECT_EQ(plugin_.signal(1, SIGKILL), -1);
}

INSTANTIATE_TEST_SUITE_P(Proctrack, BothNames,
                         testing::Values("slurm_container_plugin_", "proctrack_p_"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Proctrack, Point5_ListsHaveTheHeaderOfTheHostThatMadeTheRecord) {
  const TestHost host;
  const Proctrack plugin("proctrack_p_");
  StepRecord record(16, 496);  // 14.11
  record.put(344, std::int32_t{::getpid()});
  Task task;
  record.put(348, std::int32_t{task.pid()});
  pid_t* pids = nullptr;
  int count = 0;
  ASSERT_EQ(plugin.create(record.get()), 0);
  ASSERT_EQ(plugin.add(record.get(), task.pid()), 0);
  std::uint64_t id;
  std::memcpy(&id, reinterpret_cast<std::byte*>(record.get()) + 368, sizeof id);

  ASSERT_EQ(plugin.get_pids(id, &pids, &count), 0);

  EXPECT_EQ(host_block_size(pids, 16), sizeof(pid_t));
  free_host_block(pids, 16);
  EXPECT_EQ(plugin.signal(id, SIGKILL), 0);
  (void)task.wait_status();
  EXPECT_EQ(plugin.wait(id), 0);
}

TEST(Proctrack, RefusesATimeoutThatIsNoNumber) {
  TestHost host;
  host.set_config("[proctrack/pgid]\nunkillable_step_timeout = soon\n");
  const Proctrack plugin("proctrack_p_");

  EXPECT_EQ(plugin.init(), -1);
}

}  // namespace
}  // namespace hal::test
