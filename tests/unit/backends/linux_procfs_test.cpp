// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>

#include "backends/linux/procfs.h"

namespace hal::linux_host {
namespace {

const std::string kTail =
    " 10 42 40 34816 42 4194560 1 2 3 4 5 6 7 8 20 0 3 0 987654321 1048576 77 18446744073709551615";

/// A directory that looks like /proc; removed with the test.
class FakeProc {
 public:
  FakeProc() {
    std::string path = (std::filesystem::temp_directory_path() / "proc_XXXXXX").string();
    if (::mkdtemp(path.data()) != nullptr) root_ = path;
  }
  ~FakeProc() { std::filesystem::remove_all(root_); }
  FakeProc(const FakeProc&) = delete;
  FakeProc& operator=(const FakeProc&) = delete;

  void add(const std::string& name, const std::string& stat) const {
    std::filesystem::create_directory(root_ / name);
    std::ofstream(root_ / name / "stat") << stat;
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST(ProcStatTest, ReadsTheFieldsOfAPlainLine) {
  const auto stat = parse_proc_stat("123 (task) S" + kTail + "\n");

  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, 123);
  EXPECT_EQ(stat->name(), "task");
  EXPECT_EQ(stat->state, 'S');
  EXPECT_EQ(stat->parent, 10);
  EXPECT_EQ(stat->group, 42);
  EXPECT_EQ(stat->session, 40);
  EXPECT_EQ(stat->flags, 4194560U);
  EXPECT_EQ(stat->thread_count, 3U);
  EXPECT_EQ(stat->start_ticks, 987654321U);
  EXPECT_FALSE(stat->is_kernel_thread());
}

TEST(ProcStatTest, TheNameReachesToTheLastBracket) {
  for (const std::string name :
       {"my job", "a) S 1 1 (x", ") Z 0 0", "", "((((", "))))", " ", "1 (2) R 3"}) {
    const auto stat = parse_proc_stat("7 (" + name + ") R" + kTail);

    ASSERT_TRUE(stat) << name;
    EXPECT_EQ(stat->name(), name);
    EXPECT_EQ(stat->state, 'R') << name;
    EXPECT_EQ(stat->group, 42) << name;
  }
}

TEST(ProcStatTest, ALongNameIsCutAndTheRestStillRead) {
  const auto stat = parse_proc_stat("7 (" + std::string(200, 'n') + ") R" + kTail);

  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->name(), std::string(64, 'n'));
  EXPECT_EQ(stat->start_ticks, 987654321U);
}

TEST(ProcStatTest, EveryTruncationIsRefusedOrComplete) {
  const std::string whole = "123 (task) S" + kTail;
  const auto needed = whole.find("987654321") + 1;  // any digit of the start time may be the last

  for (std::size_t size = 0; size < needed; ++size) {
    EXPECT_FALSE(parse_proc_stat(whole.substr(0, size))) << size;
  }
}

TEST(ProcStatTest, RefusesWhatIsNotANumberOrDoesNotFit) {
  for (const std::string& text :
       {"x (a) S" + kTail, "0 (a) S" + kTail, "-1 (a) S" + kTail, "1 2 (a) S" + kTail,
        "99999999999 (a) S" + kTail, std::string("1 (a) SS") + kTail, "1 )a( S" + kTail,
        std::string("1 (a) S 1 2 3 0 0 -1 1 2 3 4 5 6 7 8 20 0 3 0 5"),
        std::string("1 (a) S 1 2 3 0 0 0 1 2 3 4 5 6 7 8 20 0 99999999999 0 5"),
        std::string("1 (a) S 1 2x 3 0 0 0 1 2 3 4 5 6 7 8 20 0 1 0 5")}) {
    EXPECT_FALSE(parse_proc_stat(text)) << text;
  }
}

TEST(ProcStatTest, AZombieWithThreadsIsNotDead) {
  ProcStat stat;
  stat.state = 'Z';
  stat.thread_count = 1;
  EXPECT_TRUE(stat.is_dead());
  stat.thread_count = 2;
  EXPECT_FALSE(stat.is_dead());
  stat.state = 'X';
  EXPECT_TRUE(stat.is_dead());
  stat.state = 'D';
  EXPECT_FALSE(stat.is_dead());
}

TEST(ProcFsTest, ReadsItsOwnProcess) {
  const auto proc = ProcFs::open();
  ASSERT_TRUE(proc);

  const auto stat = proc->stat(::getpid());

  ASSERT_TRUE(stat);
  EXPECT_EQ(stat->pid, ::getpid());
  EXPECT_EQ(stat->parent, ::getppid());
  EXPECT_EQ(stat->group, ::getpgrp());
  EXPECT_EQ(stat->session, ::getsid(0));
  EXPECT_TRUE(proc->require_own_namespace());
  EXPECT_THAT(proc->describe(::getpid()), testing::HasSubstr(", state R"));
}

TEST(ProcFsTest, TellsAbsentFromUnreadable) {
  const FakeProc fake;
  fake.add("5", "5 (torn");
  const auto proc = ProcFs::open(fake.root());
  ASSERT_TRUE(proc);

  const auto absent = proc->stat(4);
  const auto torn = proc->stat(5);

  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, ESRCH);
  ASSERT_FALSE(torn);
  EXPECT_EQ(torn.error().kind, Errc::corrupt);
  EXPECT_EQ(proc->describe(4), "gone");
}

TEST(ProcFsTest, AForeignTreeIsNotThisNamespace) {
  const FakeProc fake;
  const auto proc = ProcFs::open(fake.root());
  ASSERT_TRUE(proc);

  const auto own = proc->require_own_namespace();

  ASSERT_FALSE(own);
  EXPECT_EQ(own.error().kind, Errc::no_device);
  EXPECT_FALSE(ProcFs::open(fake.root() + "/absent"));
}

TEST(ProcFsTest, MessagesHoldOnlyPrintableNames) {
  const FakeProc fake;
  fake.add("5", "5 (a\033[2Jb\x7f\xff) S" + kTail);
  const auto proc = ProcFs::open(fake.root());
  ASSERT_TRUE(proc);

  EXPECT_EQ(proc->describe(5), "a?[2Jb??, state S");
}

TEST(PidScanTest, FindsEveryNumberOnceAndNothingElse) {
  const FakeProc fake;
  std::vector<pid_t> expected;
  for (pid_t pid = 1; pid <= 3000; ++pid) {
    std::filesystem::create_directory(fake.root() + "/" + std::to_string(pid));
    expected.push_back(pid);
  }
  for (const char* name : {"self", "007", "0", "-3", "12a", "99999999999", "4294967297", "sys"}) {
    std::filesystem::create_directory(fake.root() + "/" + name);
  }
  const auto proc = ProcFs::open(fake.root());
  ASSERT_TRUE(proc);

  std::vector<pid_t> seen;
  PidScan scan(*proc);
  while (const pid_t pid = scan.next()) seen.push_back(pid);

  EXPECT_EQ(scan.error(), 0);
  EXPECT_THAT(seen, testing::UnorderedElementsAreArray(expected));
}

TEST(PidScanTest, TwoScansDoNotDisturbEachOther) {
  const auto proc = ProcFs::open();
  ASSERT_TRUE(proc);
  PidScan first(*proc);
  const pid_t lowest = first.next();
  PidScan second(*proc);

  EXPECT_EQ(second.next(), lowest);
}

}  // namespace
}  // namespace hal::linux_host
