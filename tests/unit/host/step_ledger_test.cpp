// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_ledger.h"

#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/descendants.h"

namespace hal::host {
namespace {

class StepLedgerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/ledger-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
    directory_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  static StepHolding holding() {
    StepHolding made;
    made.owner = {.pid = ::getpid(), .start_time = process_facts(::getpid())->start_time};
    made.boot = boot_id();
    made.job = JobId{12};
    made.step = StepId{3};
    made.shape = StepShape::late;
    made.plugins = {{"switch", "switch/elan"}};
    made.nodes = "n[0-1]";
    made.credential = Credential({std::byte{0x00}, std::byte{0xff}, std::byte{0x7a}});
    return made;
  }

  [[nodiscard]] std::string text() const {
    std::ifstream file(path_ + "/12.3", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  void write_everything() {
    auto ledger = StepLedger::create(directory_.get(), holding());
    ASSERT_TRUE(ledger) << ledger.error().detail;
    ledger->manager_started(1, {.pid = 100, .start_time = 7});
    ledger->session_ready(1, {.pid = 101, .start_time = 8},
                          {.session_pid = 101, .process_group = 102, .container_id = 1ULL << 40});
    const std::array<TaskBirth, 2> births{TaskBirth{.pid = 102, .start_time = 9},
                                          TaskBirth{.pid = 103, .start_time = 10}};
    ledger->tasks_started(1, births);
    ledger->node_ended(0);
  }

  std::string path_;
  UniqueFd directory_;
};

TEST_F(StepLedgerTest, ReadsBackWhatWasWritten) {
  write_everything();

  const auto found = read_ledgers(directory_.get());

  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_EQ(found->front().name, "12.3");
  ASSERT_TRUE(found->front().holding) << found->front().holding.error().detail;
  const auto& read = *found->front().holding;
  EXPECT_EQ(read.job, JobId{12});
  EXPECT_EQ(read.step, StepId{3});
  EXPECT_EQ(read.shape, StepShape::late);
  EXPECT_EQ(read.nodes, "n[0-1]");
  EXPECT_EQ(read.plugins.at("switch"), "switch/elan");
  EXPECT_EQ(read.credential, holding().credential);
  EXPECT_TRUE(read.owner_alive());
  const auto& node = read.by_node.at(1);
  EXPECT_EQ(node.manager, (ProcessMark{.pid = 100, .start_time = 7}));
  EXPECT_EQ(node.session, (ProcessMark{.pid = 101, .start_time = 8}));
  EXPECT_EQ(node.process_group, 102);
  EXPECT_EQ(node.container_id, 1ULL << 40);
  EXPECT_EQ(node.tasks.size(), 2U);
  EXPECT_FALSE(node.ended);
  EXPECT_TRUE(read.by_node.at(0).ended);
}

TEST_F(StepLedgerTest, IsForItsOwnerOnlyAndNeverOverwritten) {
  write_everything();
  struct stat status {};
  ASSERT_EQ(::stat((path_ + "/12.3").c_str(), &status), 0);

  EXPECT_EQ(status.st_mode & 07777, 0600U);
  EXPECT_FALSE(StepLedger::create(directory_.get(), holding()));
}

TEST_F(StepLedgerTest, KeepsEveryWholeLineOfATornFile) {
  write_everything();
  const auto whole = text();
  const auto head = whole.find("credential");

  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto read = parse_ledger(std::string_view(whole).substr(0, size));
    if (!read) {
      EXPECT_LT(size, head) << "the head is there, so it must be readable";
      continue;
    }
    EXPECT_EQ(read->nodes, "n[0-1]");
    EXPECT_LE(read->by_node.size(), 2U);
  }
}

TEST_F(StepLedgerTest, BelievesNoDamagedLine) {
  write_everything();
  const auto whole = text();

  for (std::size_t at = 0; at < whole.size(); at += 3) {
    auto damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    const auto read = parse_ledger(damaged);
    if (!read || !read->by_node.contains(1)) continue;
    for (const auto& task : read->by_node.at(1).tasks) {
      EXPECT_TRUE(task.pid == 102 || task.pid == 103) << "at " << at;
    }
  }
}

TEST_F(StepLedgerTest, ATheftOfTheNumberIsNoLife) {
  auto other = holding();
  other.owner.start_time += 1;
  EXPECT_FALSE(other.owner_alive());

  auto older = holding();
  older.boot = "another boot";
  EXPECT_FALSE(older.owner_alive());
}

TEST_F(StepLedgerTest, FollowsNoLink) {
  std::ofstream(path_ + "/secret") << "x";
  ASSERT_EQ(::symlink((path_ + "/secret").c_str(), (path_ + "/9.0").c_str()), 0);

  const auto found = read_ledgers(directory_.get());

  ASSERT_TRUE(found);
  ASSERT_EQ(found->size(), 1U);
  EXPECT_FALSE(found->front().holding);
}

}  // namespace
}  // namespace hal::host
