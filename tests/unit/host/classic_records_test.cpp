// SPDX-License-Identifier: BSD-3-Clause
#include "host/classic_records.h"

#include <cstring>
#include <gtest/gtest.h>

namespace hal::host {
namespace {

/// The T at `offset` of a record, as a plugin of the time reads it.
template <class T>
T member(void* record, int offset) {
  T value{};
  std::memcpy(&value, static_cast<const char*>(record) + offset, sizeof value);
  return value;
}

StepFacts step_facts() {
  return {.job_id = 4711,
          .step_id = 3,
          .node_count = 4,
          .node_id = 2,
          .step_tasks = 16,
          .node_tasks = 5,
          .cpus = 8,
          .uid = 1000,
          .gid = 100,
          .manager_pid = 77,
          .process_group = 78,
          .batch = true,
          .arguments = {"a.out", "-x"},
          .working_directory = "/home/u",
          .node_name = "n2"};
}

// The numbers below are spelt out once more on purpose: they are the document's, not the code's.

TEST(StepRecordTest, Layout_0_5_0) {
  StepRecord step(StepRecordLayout::v0_5_0, step_facts());
  void* const record = step.handle();

  EXPECT_EQ(host_block_size(record), 168U);
  EXPECT_EQ(member<std::uint32_t>(record, 0), 4711U);
  EXPECT_EQ(member<std::uint32_t>(record, 4), 3U);
  EXPECT_EQ(member<std::uint32_t>(record, 8), 4U);
  EXPECT_EQ(member<std::uint32_t>(record, 12), 16U);
  EXPECT_EQ(member<std::uint32_t>(record, 16), 2U);
  EXPECT_EQ(member<std::uint32_t>(record, 20), 5U);
  EXPECT_EQ(member<std::uint16_t>(record, 28), 8U);
  EXPECT_EQ(member<std::uint16_t>(record, 30), 2U);
  EXPECT_STREQ(member<char**>(record, 40)[1], "-x");
  EXPECT_STREQ(member<char*>(record, 48), "/home/u");
  EXPECT_EQ(member<uid_t>(record, 64), 1000U);
  EXPECT_EQ(member<gid_t>(record, 68), 100U);
  EXPECT_TRUE(member<bool>(record, 72));
  EXPECT_EQ(member<pid_t>(record, 136), 77);
  EXPECT_EQ(member<std::int32_t>(record, 144), -1) << "smgr_status before the manager is reaped";

  step.set_session(99, 256);
  EXPECT_EQ(member<pid_t>(record, 140), 99);
  EXPECT_EQ(member<std::int32_t>(record, 144), 256);
  EXPECT_EQ(step.container_id(), 0U) << "there is no such member";
}

TEST(StepRecordTest, Layout_1_0) {
  StepRecord step(StepRecordLayout::v1_0, step_facts());
  void* const record = step.handle();

  EXPECT_EQ(host_block_size(record), 304U);
  EXPECT_EQ(member<std::uint32_t>(record, 4), 4711U);
  EXPECT_EQ(member<std::uint32_t>(record, 8), 3U);
  EXPECT_EQ(member<std::uint32_t>(record, 12), 4U);
  EXPECT_EQ(member<std::uint32_t>(record, 16), 16U);
  EXPECT_EQ(member<std::uint32_t>(record, 20), 2U);
  EXPECT_EQ(member<std::uint32_t>(record, 24), 5U);
  EXPECT_EQ(member<std::uint16_t>(record, 34), 2U);
  EXPECT_STREQ(member<char**>(record, 48)[0], "a.out");
  EXPECT_STREQ(member<char*>(record, 56), "/home/u");
  EXPECT_EQ(member<uid_t>(record, 88), 1000U);
  EXPECT_EQ(member<pid_t>(record, 264), 77);
  EXPECT_EQ(member<pid_t>(record, 268), 78);

  step.set_container_id(0x1122334455667788U);
  EXPECT_EQ(member<std::uint32_t>(record, 288), 0x55667788U) << "32 bits in this layout";
  EXPECT_EQ(step.container_id(), 0x55667788U);
}

TEST(StepRecordTest, Layout_2_6) {
  StepRecord step(StepRecordLayout::v2_6, step_facts());
  void* const record = step.handle();
  int jobinfo = 0;
  char** const env = nullptr;
  step.set_switch_job(&jobinfo);
  step.set_env(env);
  step.set_container_id(0x1122334455667788U);
  step.set_manager_pid(80);
  step.set_process_group(81);

  EXPECT_EQ(host_block_size(record), 464U);
  EXPECT_EQ(member<std::uint32_t>(record, 4), 4711U);
  EXPECT_EQ(member<std::uint32_t>(record, 8), 3U);
  EXPECT_EQ(member<std::uint32_t>(record, 20), 4U);
  EXPECT_EQ(member<std::uint32_t>(record, 24), 16U);
  EXPECT_EQ(member<std::uint32_t>(record, 28), 2U);
  EXPECT_EQ(member<std::uint32_t>(record, 32), 5U);
  EXPECT_EQ(member<std::uint32_t>(record, 56), 2U);
  EXPECT_STREQ(member<char**>(record, 72)[0], "a.out");
  EXPECT_STREQ(member<char*>(record, 96), "n2");
  EXPECT_EQ(member<void*>(record, 144), &jobinfo);
  EXPECT_EQ(member<uid_t>(record, 152), 1000U);
  EXPECT_TRUE(member<bool>(record, 177));
  EXPECT_EQ(member<pid_t>(record, 336), 80);
  EXPECT_EQ(member<pid_t>(record, 340), 81);
  EXPECT_EQ(member<std::uint64_t>(record, 360), 0x1122334455667788U);
  EXPECT_EQ(step.container_id(), 0x1122334455667788U);
}

TEST(StepRecordTest, TheContainerIdLies24BytesAfterTheManagersPid) {
  for (const auto layout : {StepRecordLayout::v1_0, StepRecordLayout::v2_6}) {
    EXPECT_EQ(offsets_of(layout).container_id, offsets_of(layout).manager_pid + 24);
  }
}

TEST(StepRecordTest, CanBeMoved) {
  StepRecord first(StepRecordLayout::v2_6, step_facts());
  void* const record = first.handle();

  StepRecord second(std::move(first));
  StepRecord third(StepRecordLayout::v0_5_0, {});
  third = std::move(second);

  EXPECT_EQ(third.handle(), record);
  EXPECT_EQ(third.layout(), StepRecordLayout::v2_6);
}

JobFacts job_facts() {
  return {.job_id = 12,
          .name = std::string(300, 'j'),
          .partition = "debug",
          .batch = true,
          .uid = 1000,
          .gid = 100,
          .state = 1,
          .nodes = "n[1-2]",
          .task_count = 8,
          .time_limit = 60,
          .priority = 5,
          .submit_time = 1000,
          .start_time = 1010,
          .end_time = 0,
          .node_count = 2,
          .cpus_per_node = 4,
          .account = "physics",
          .network = "elan"};
}

TEST(JobRecordTest, Layout_0_5) {
  JobRecord job(JobRecordLayout::v0_5, job_facts());
  void* const record = job.handle();

  EXPECT_EQ(host_block_size(record), 528U);
  EXPECT_EQ(member<std::uint32_t>(record, 0), 12U);
  EXPECT_EQ(std::string(static_cast<char*>(record) + 8), std::string(255, 'j'));
  EXPECT_STREQ(static_cast<char*>(record) + 264, "debug");
  EXPECT_EQ(member<std::uint16_t>(record, 304), 1U);
  EXPECT_EQ(member<std::uint32_t>(record, 308), 1000U);
  EXPECT_EQ(member<std::uint32_t>(record, 312), 100U);
  EXPECT_EQ(member<std::uint32_t>(record, 316), 1U);
  EXPECT_STREQ(member<char*>(record, 336), "n[1-2]");
  EXPECT_EQ(member<std::uint32_t>(record, 352), 8U);
  EXPECT_EQ(member<std::int64_t>(record, 360), 1010);
  EXPECT_EQ(member<std::uint32_t>(record, 384), 5U);
  EXPECT_EQ(member<std::uint32_t>(member<void*>(record, 392), 104), 8U);
  EXPECT_EQ(member<std::int64_t>(member<void*>(record, 392), 112), 1000);
  EXPECT_EQ(member<std::uint16_t>(record, 400), 1U);
  EXPECT_EQ(*member<std::uint32_t*>(record, 408), 4U);
  EXPECT_EQ(*member<std::uint32_t*>(record, 416), 2U);
  EXPECT_EQ(member<std::uint16_t>(record, 442), 2U);
  EXPECT_STREQ(member<char*>(record, 480), "physics");
  EXPECT_STREQ(member<char*>(record, 496), "elan");
}

TEST(JobRecordTest, Layout_1_0_16) {
  JobRecord job(JobRecordLayout::v1_0_16, job_facts());
  void* const record = job.handle();
  job.set_state(3);
  job.set_times(1020, 1030);

  EXPECT_EQ(host_block_size(record), 568U);
  EXPECT_EQ(member<std::uint32_t>(record, 316), 3U);
  EXPECT_EQ(member<std::uint32_t>(record, 360), 8U);
  EXPECT_EQ(member<std::int64_t>(record, 368), 1020);
  EXPECT_EQ(member<std::int64_t>(record, 376), 1030);
  EXPECT_EQ(member<std::uint32_t>(record, 408), 5U);
  EXPECT_EQ(member<std::int64_t>(member<void*>(record, 416), 120), 1000);
  EXPECT_EQ(*member<std::uint32_t*>(record, 432), 4U);
  EXPECT_EQ(member<std::uint16_t>(record, 466), 2U);
  EXPECT_STREQ(member<char*>(record, 504), "physics");
}

TEST(JobRecordTest, AJobThatWaitsHasNoNodes) {
  JobRecord job(JobRecordLayout::v0_5, {.job_id = 1});

  EXPECT_EQ(member<char*>(job.handle(), 336), nullptr);
  EXPECT_EQ(member<std::int64_t>(job.handle(), 360), 0);
  EXPECT_EQ(member<void*>(job.handle(), 408), nullptr);
}

TEST(JobAcctMessageTest, HasTypeLengthAndContent) {
  const std::array<std::byte, 3> content = {std::byte{7}, std::byte{8}, std::byte{9}};
  JobAcctMessage message(content);
  void* const record = message.handle();
  void* const data = member<void*>(record, 32);

  EXPECT_EQ(host_block_size(record), 48U);
  EXPECT_EQ(member<std::uint32_t>(record, 0), 8003U);
  EXPECT_EQ(host_block_size(data), 16U);
  EXPECT_EQ(member<std::uint16_t>(data, 0), 3U);
  EXPECT_EQ(std::memcmp(member<void*>(data, 8), content.data(), content.size()), 0);
}

TEST(JobAcctMessageTest, CarriesNoMoreThan16BitsCanCount) {
  const std::vector<std::byte> content(100000);
  JobAcctMessage message(content);

  EXPECT_EQ(member<std::uint16_t>(member<void*>(message.handle(), 32), 0), 65535U);
}

}  // namespace
}  // namespace hal::host
