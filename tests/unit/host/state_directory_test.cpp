// SPDX-License-Identifier: BSD-3-Clause
#include "host/state_directory.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <string>

namespace hal::host {
namespace {

class StateDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = "/tmp/state-directory-test-XXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    path_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  /// What a new run finds.
  [[nodiscard]] StateDirectory::Counters counters() const {
    auto state = StateDirectory::open(path_);
    if (!state) return {.next_job = 0};
    const auto lock = state->lock();
    return lock ? lock->counters() : StateDirectory::Counters{.next_job = 0};
  }

  void write_counters(const std::string& text) const { std::ofstream(path_ + "/jobs") << text; }

  std::string path_;
};

TEST_F(StateDirectoryTest, ANewOneStartsAtJobOne) {
  const auto found = counters();

  EXPECT_EQ(found.next_job, 1U);
  EXPECT_EQ(found.generation, 0U);
}

TEST_F(StateDirectoryTest, CountersSurviveTheRun) {
  {
    auto state = StateDirectory::open(path_);
    ASSERT_TRUE(state) << state.error().detail;
    auto lock = state->lock();
    ASSERT_TRUE(lock) << lock.error().detail;
    ASSERT_TRUE(lock->take_job());
    ASSERT_TRUE(lock->take_job());
    ASSERT_TRUE(lock->count_change());
  }

  const auto found = counters();

  EXPECT_EQ(found.next_job, 3U);
  EXPECT_EQ(found.generation, 3U);
}

TEST_F(StateDirectoryTest, ADamagedFileCostsTheCountNotTheRun) {
  for (const char* text : {"", "job", "job x change 1", "job 5", "job 5 change", "job 0 change 1",
                           "job 67108864 change 1", "job 99999999999999 change 1",
                           "job -5 change 1", "\377\377\377\377"}) {
    ASSERT_EQ(counters().next_job, 1U) << "the directory is usable";
    write_counters(text);

    const auto found = counters();

    EXPECT_EQ(found.next_job, 1U) << text;
    EXPECT_EQ(found.generation, 0U) << text;
  }
}

TEST_F(StateDirectoryTest, TheLargestNumberIsReadBack) {
  ASSERT_EQ(counters().next_job, 1U);
  write_counters("job 67108863   change 18446744073709551615 \n");

  const auto found = counters();

  EXPECT_EQ(found.next_job, 67108863U);
  EXPECT_EQ(found.generation, 18446744073709551615U);
}

}  // namespace
}  // namespace hal::host
