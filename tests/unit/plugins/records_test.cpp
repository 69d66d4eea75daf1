// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <unistd.h>

#include "plugins/classic/job_record.h"
#include "plugins/classic/step_record.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::classic {
namespace {

using test::free_host_block;
using test::host_block;

/// A record as a host of one release lays it out, filled with 0xa5. The heap has no red zones of
/// its own, so the block is longer than its header says: the rest is the rear red zone.
class ForeignRecord {
 public:
  static constexpr std::size_t kRedZone = 64;

  ForeignRecord(std::size_t size, std::size_t header)
      : size_(size), header_(header), block_(host_block(size + kRedZone, header)) {
    std::memset(block_, 0xa5, size + kRedZone);
    if (header == 8) {
      put(-4, static_cast<std::uint32_t>(size));
    } else {
      put(-8, static_cast<std::uint64_t>(size));
    }
  }
  ~ForeignRecord() { free_host_block(block_, header_); }
  ForeignRecord(const ForeignRecord&) = delete;
  ForeignRecord& operator=(const ForeignRecord&) = delete;

  template <class T>
  void put(std::ptrdiff_t offset, T value) {
    std::memcpy(static_cast<std::byte*>(block_) + offset, &value, sizeof value);
  }
  template <class T>
  [[nodiscard]] T at(std::ptrdiff_t offset) const {
    T value;
    std::memcpy(&value, static_cast<const std::byte*>(block_) + offset, sizeof value);
    return value;
  }

  template <class T>
  [[nodiscard]] T* as() {
    return static_cast<T*>(block_);
  }

  /// Header, record and red zone, byte for byte.
  [[nodiscard]] std::vector<std::byte> image() const {
    const auto* base = static_cast<const std::byte*>(block_) - header_;
    return {base, base + header_ + size_ + kRedZone};
  }
  [[nodiscard]] std::size_t header() const noexcept { return header_; }

 private:
  std::size_t size_;
  std::size_t header_;
  void* block_;
};

/// Offsets typed in from the sheet's table once more; 0xffff: no such member.
struct Row {
  const char* release;
  std::size_t size, header;
  std::ptrdiff_t job, step, node, tasks, uid, gid, batch, manager, group, container;
  std::size_t container_bytes;
};
constexpr std::ptrdiff_t kNone = 0xffff;

const Row kRows[] = {
    {"v0_4_6", 160, 8, 0, 4, 16, 20, 64, 68, 72, 136, kNone, kNone, 0},
    {"v0_5_0", 168, 8, 0, 4, 16, 20, 64, 68, 72, 136, kNone, kNone, 0},
    {"v1_0_17", 304, 8, 4, 8, 20, 24, 88, 92, 112, 264, 268, 288, 4},
    {"v2_3_3", 432, 8, 4, 8, 20, 24, 128, 132, 153, 304, 308, 328, 8},
    {"v2_4", 440, 8, 4, 8, 20, 24, 136, 140, 161, 312, 316, 336, 8},
    {"v2_5", 448, 8, 4, 8, 20, 24, 144, 148, 169, 320, 324, 344, 8},
    {"v2_6_9", 464, 8, 4, 8, 28, 32, 152, 156, 177, 336, 340, 360, 8},
    {"v14_11_11", 496, 16, 4, 8, 28, 32, 160, 176, 193, 344, 348, 368, 8},
    {"v15_08_8", 504, 16, 4, 8, kNone, kNone, kNone, kNone, kNone, 352, 356, 376, 8},
    {"v15_08_13", 592, 16, 96, 100, 120, 124, 256, 272, 289, 440, 444, 464, 8},
    {"v19_05_8", 760, 16, 96, 100, 120, 128, 328, 368, 393, 536, 540, 560, 8},
    {"v22_05_8", 768, 16, 112, 120, 140, 144, 352, 392, 417, 560, 564, 584, 8},
};

void fill(ForeignRecord& record, const Row& row) {
  const auto put = [&](std::ptrdiff_t offset, auto value) {
    if (offset != kNone) record.put(offset, value);
  };
  put(row.job, std::uint32_t{1001});
  put(row.step, std::uint32_t{0xfffffffe});
  put(row.node, std::uint32_t{3});
  put(row.tasks, std::uint32_t{4});
  put(row.uid, std::uint32_t{500});
  put(row.gid, std::uint32_t{501});
  put(row.batch, std::uint8_t{1});
  put(row.manager, std::int32_t{::getpid()});
  put(row.group, std::int32_t{4711});
  if (row.container_bytes == 4) put(row.container, std::uint32_t{0});
  if (row.container_bytes == 8) put(row.container, std::uint64_t{0});
}

class StepLayouts : public testing::TestWithParam<Row> {};

TEST_P(StepLayouts, Point6_ReadsTheMembersOfItsRelease) {
  const Row& row = GetParam();
  ForeignRecord record(row.size, row.header);
  fill(record, row);
  const auto before = record.image();

  const auto read = read_step(record.as<slurmd_job_t>(), Manager::self);

  ASSERT_TRUE(read) << read.error().detail;
  EXPECT_EQ(read->step.job, JobId{1001});
  EXPECT_EQ(read->step.step, kBatchStep);
  EXPECT_EQ(read->step.manager_pid, ::getpid());
  EXPECT_EQ(read->step.process_group, row.group != kNone ? 4711 : 0);
  EXPECT_EQ(read->step.owner, row.uid != kNone ? 500U : ~uid_t{0});
  EXPECT_EQ(read->step.group, row.gid != kNone ? 501U : ~gid_t{0});
  EXPECT_EQ(read->step.node_index, row.node != kNone ? 3U : 0U);
  EXPECT_EQ(read->step.task_count, row.tasks != kNone ? 4U : 0U);
  EXPECT_EQ(read->batch, row.batch != kNone);
  EXPECT_EQ(read->container, kNoContainer);
  EXPECT_EQ(record.image(), before);
}

TEST_P(StepLayouts, Point6_WritesTheContainerIdAndNothingElse) {
  const Row& row = GetParam();
  ForeignRecord record(row.size, row.header);
  fill(record, row);
  auto expected = record.image();

  const auto written = write_container(record.as<slurmd_job_t>(), ContainerId{0x11223344});

  ASSERT_EQ(written.has_value(), row.container_bytes != 0);
  const std::uint64_t id = 0x11223344;
  if (written) {
    std::memcpy(expected.data() + row.header + row.container, &id, row.container_bytes);
  } else {
    EXPECT_EQ(written.error().code, ENOTSUP);
  }
  EXPECT_EQ(record.image(), expected);
}

TEST_P(StepLayouts, RefusesARecordOfAnotherProcess) {
  const Row& row = GetParam();
  ForeignRecord record(row.size, row.header);
  fill(record, row);
  record.put(row.manager, std::int32_t{::getppid()});
  const auto before = record.image();

  EXPECT_EQ(read_step(record.as<slurmd_job_t>(), Manager::self).error().code, ENOTSUP);
  EXPECT_FALSE(write_container(record.as<slurmd_job_t>(), ContainerId{2}));
  EXPECT_TRUE(read_step(record.as<slurmd_job_t>(), Manager::self_or_parent));
  EXPECT_TRUE(read_step(record.as<slurmd_job_t>(), Manager::any));
  EXPECT_EQ(record.image(), before);
}

INSTANTIATE_TEST_SUITE_P(Records, StepLayouts, testing::ValuesIn(kRows),
                         [](const auto& test) { return std::string(test.param.release); });

TEST(StepRecord, Point7_UnknownSizesAreRefusedAndNothingIsWritten) {
  for (std::size_t size = 0; size <= 800; ++size) {
    const bool known = std::ranges::any_of(kRows, [&](const Row& row) { return row.size == size; });
    if (known) continue;
    ForeignRecord record(size, 8);
    const auto before = record.image();

    ASSERT_EQ(read_step(record.as<slurmd_job_t>(), Manager::any).error().code, ENOTSUP) << size;
    ASSERT_FALSE(write_container(record.as<slurmd_job_t>(), ContainerId{9})) << size;
    ASSERT_EQ(record.image(), before);
  }
  EXPECT_EQ(read_step(nullptr, Manager::any).error().code, EINVAL);
}

TEST(StepRecord, AnIdThatDoesNotFitIsNotCut) {
  ForeignRecord record(304, 8);
  fill(record, kRows[2]);
  const auto before = record.image();

  const auto written = write_container(record.as<slurmd_job_t>(), ContainerId{0x1'0000'0002});

  EXPECT_EQ(written.error().code, EOVERFLOW);
  EXPECT_EQ(record.image(), before);
}

TEST(StepRecord, SessionStatusOnlyWhereThereIsASessionManager) {
  ForeignRecord early(168, 8);
  fill(early, kRows[1]);
  early.put(144, std::int32_t{0x0100});
  ForeignRecord late(304, 8);
  fill(late, kRows[2]);

  EXPECT_EQ(read_step(early.as<slurmd_job_t>(), Manager::any)->session_status, 0x0100);
  EXPECT_EQ(read_step(late.as<slurmd_job_t>(), Manager::any)->session_status, -1);
}

struct JobRow {
  const char* release;
  std::size_t size;
  std::ptrdiff_t tasks, start, end, priority, details;
};
const JobRow kJobRows[] = {{"v0_5", 528, 352, 360, 368, 384, 392},
                           {"v1_0_0", 560, 352, 360, 368, 400, 408},
                           {"v1_0_16", 568, 360, 368, 376, 408, 416}};

class JobLayouts : public testing::TestWithParam<JobRow> {};

TEST_P(JobLayouts, Point6_ReadsTheMembersOfItsRelease) {
  const JobRow& row = GetParam();
  ForeignRecord record(row.size, 8);
  ForeignRecord details(128, 8);
  details.put(112, std::int64_t{900});
  record.put(0, std::uint32_t{77});
  std::memset(record.as<char>() + 8, 'n', 256);  // a name that fills its member has no terminator
  std::memcpy(record.as<char>() + 264, "debug", 6);
  record.put(304, std::uint16_t{1});
  record.put(308, std::uint32_t{500});
  record.put(312, std::uint32_t{501});
  record.put(316, std::uint32_t{3});
  record.put(336, "n[1-4]");
  record.put(row.tasks, std::uint32_t{8});
  record.put(row.start, std::int64_t{1000});
  record.put(row.end, std::int64_t{2000});
  record.put(row.priority, std::uint32_t{6});
  record.put(row.details, details.as<void>());

  const auto job = read_job(record.as<job_record>());

  ASSERT_TRUE(job) << job.error().detail;
  EXPECT_EQ(job->job, JobId{77});
  EXPECT_EQ(job->name, std::string(256, 'n'));
  EXPECT_EQ(job->partition, "debug");
  EXPECT_EQ(job->nodes, "n[1-4]");
  EXPECT_EQ(job->owner, 500U);
  EXPECT_EQ(job->group, 501U);
  EXPECT_EQ(job->state, 3U);
  EXPECT_EQ(job->priority, 6U);
  EXPECT_EQ(job->task_count, 8U);
  EXPECT_TRUE(job->batch);
  EXPECT_EQ(job->submitted, 900);
  EXPECT_EQ(job->started, 1000);
  EXPECT_EQ(job->ended, 2000);
}

TEST_P(JobLayouts, Point9_AQueuedJobHasNoNodesNoTimesNoDetails) {
  ForeignRecord record(GetParam().size, 8);
  std::memset(record.as<void>(), 0, GetParam().size);

  const auto job = read_job(record.as<job_record>());

  ASSERT_TRUE(job);
  EXPECT_EQ(job->nodes, "");
  EXPECT_EQ(job->started, 0);
  EXPECT_EQ(job->submitted, 0);
}

INSTANTIATE_TEST_SUITE_P(Records, JobLayouts, testing::ValuesIn(kJobRows),
                         [](const auto& test) { return std::string(test.param.release); });

TEST(JobRecord, Point7_UnknownSizesAreRefused) {
  ForeignRecord record(552, 8);

  EXPECT_EQ(read_job(record.as<job_record>()).error().code, ENOTSUP);
  EXPECT_EQ(read_job(nullptr).error().code, EINVAL);
}

struct TestMessageData {
  std::uint16_t length;
  const char* bytes;
};
struct TestMessage {
  std::uint32_t type = 8003;
  std::array<char, 16> address{};
  int descriptor = -1;
  void* credential = nullptr;
  const void* data = nullptr;
  std::uint32_t data_size = 0;
};
static_assert(sizeof(TestMessage) == 48 && offsetof(TestMessage, data) == 32);

TEST(AccountingMessage, IsReadByItsLengthAndNotByATerminator) {
  const TestMessageData data{3, "abcdef"};
  TestMessage message;
  message.data = &data;
  const auto* foreign = reinterpret_cast<const slurm_msg*>(&message);

  const auto bytes = read_message(foreign);

  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->size(), 3U);
  message.type = 8002;
  EXPECT_EQ(read_message(foreign).error().code, EINVAL);
  message.type = 8003;
  message.data = nullptr;
  EXPECT_EQ(read_message(foreign).error().code, EBADMSG);
  EXPECT_EQ(read_message(nullptr).error().code, EINVAL);
}

}  // namespace
}  // namespace hal::classic
