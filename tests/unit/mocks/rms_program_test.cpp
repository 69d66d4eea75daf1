// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstring>
#include <gmock/gmock.h>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::IsEmpty;

using RmsProgram = ElanMockTest;

TEST_F(RmsProgram, CreateNeedsRootAndAFreeId) {
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(outcome(vendor_.prgcreate(7, 1000, 1)), EACCES);
  ::setenv("BACKPLANE_MOCK_UID", "0", 1);
  EXPECT_EQ(outcome(vendor_.prgcreate(0, 1000, 1)), EINVAL);
  const auto owner = session(7);

  EXPECT_EQ(outcome(vendor_.prgcreate(7, 1000, 1)), EINVAL) << "id in use";

  int id = 0;
  EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH) << "a failed create enters nothing";
  ::setenv("SLURMD_NODENAME", "n6", 1);
  const auto other_node = session(7);
  EXPECT_EQ(outcome(vendor_.getprgid(owner->pid(), &id)), ESRCH) << "a process of another node";
}

TEST_F(RmsProgram, SmallTableIsENOMEM) {
  mock_->set_option("max_programs", 1);
  const auto owner = session(1);

  EXPECT_EQ(outcome(vendor_.prgcreate(2, 0, 1)), ENOMEM);
}

TEST_F(RmsProgram, DestroyWaitsForMembersAndForgetsTheId) {
  auto owner = session(7);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), ECHILD);
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), EACCES);
  ::setenv("BACKPLANE_MOCK_UID", "0", 1);

  owner->tell();
  EXPECT_EQ(owner->wait(), 0);

  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), 0);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), ESRCH);
  mock_->set_option("unknown_program_errno", EEXIST);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), EEXIST);
  EXPECT_THAT(mock_->leaks(), IsEmpty());
}

TEST_F(RmsProgram, AMemberCannotDestroyItsOwn) {
  Child owner([&](Child&) {
    if (vendor_.prgcreate(7, 0, 1) != 0) return 1;
    return vendor_.prgdestroy(7) == -1 && errno == ECHILD ? 0 : 2;
  });

  EXPECT_EQ(owner.wait(), 0);
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
}

TEST_F(RmsProgram, ZombiesAreNoMembers) {
  auto owner = session(7);
  owner->tell();
  siginfo_t info{};
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(owner->pid()), &info, WEXITED | WNOWAIT), 0);

  int count = -1;
  EXPECT_EQ(vendor_.prginfo(7, 0, nullptr, &count), 0);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(vendor_.prgdestroy(7), 0) << "not reaped yet, but gone";
}

TEST_F(RmsProgram, AddcapChecksItsArguments) {
  ELAN_CAPABILITY cap = capability();
  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, &cap)), ESRCH);
  const auto owner = session(7);

  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, nullptr)), EINVAL);
  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, &cap)), 0);
  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, &cap)), 0) << "duplicates are not refused";
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, &cap)), 0) << "module 5 asks nobody";
  mock_->set_option("prgaddcap_root", 1);
  EXPECT_EQ(outcome(vendor_.prgaddcap(7, 0, &cap)), EACCES);
}

TEST_F(RmsProgram, SetcapAcceptsOneContextTooMany) {
  ELAN_CAPABILITY cap = capability();
  EXPECT_EQ(outcome(vendor_.setcap(0, 0)), ESRCH) << "in no program";
  auto owner = session(7, [&](Child& self) {
    vendor_.prgaddcap(7, 0, &cap);
    self.tell_number(outcome(vendor_.setcap(1, 0)));
    self.tell_number(outcome(vendor_.setcap(0, -1)));
    self.tell_number(outcome(vendor_.setcap(0, 2)));
    self.tell_number(outcome(vendor_.setcap(0, 3)));
    mock_->set_option("setcap_off_by_one", 0);
    self.tell_number(outcome(vendor_.setcap(0, 2)));
    self.tell_number(outcome(vendor_.setcap(0, 1)));
    return 0;
  });

  EXPECT_EQ(owner->hear_number(), EINVAL) << "no such index";
  EXPECT_EQ(owner->hear_number(), EINVAL) << "negative";
  EXPECT_EQ(owner->hear_number(), 0) << "the real off-by-one";
  EXPECT_EQ(owner->hear_number(), EINVAL) << "two too many";
  EXPECT_EQ(owner->hear_number(), EINVAL) << "repaired by the switch";
  EXPECT_EQ(owner->hear_number(), 0);
}

TEST_F(RmsProgram, GetcapAnswersTheNewestWithTheCallersContext) {
  ELAN_CAPABILITY older = capability(0x500, 0x501);
  ELAN_CAPABILITY newer = capability();
  newer.cap_bitmap[1] = 0xFFFFFFFF;
  auto owner = session(7, [&](Child& self) {
    ELAN_CAPABILITY got{};
    std::memset(&got, 0x5A, sizeof got);
    int count = 0;
    int mine = 0;
    vendor_.prgaddcap(7, 0, &older);
    vendor_.prgaddcap(7, 0, &newer);
    self.tell_number(vendor_.mycap(&mine) == 0 ? mine : -9);
    self.tell_number(outcome(vendor_.setcap(0, 1)));
    self.tell_number(outcome(vendor_.getcap(0, &got)));
    self.tell_number(got.cap_mycontext);
    self.tell_number(static_cast<int>(got.cap_bitmap[0]));
    self.tell_number(static_cast<int>(got.cap_bitmap[1]));
    self.tell_number(vendor_.ncaps(&count) == 0 ? count : -9);
    self.tell_number(vendor_.mycap(&mine) == 0 ? mine : -9);
    self.tell_number(outcome(vendor_.getcap(0, nullptr)));
    self.tell_number(outcome(vendor_.getcap(3, &got)));
    return 0;
  });

  EXPECT_EQ(owner->hear_number(), -1) << "nothing chosen yet";
  EXPECT_EQ(owner->hear_number(), 0);
  EXPECT_EQ(owner->hear_number(), 0);
  EXPECT_EQ(owner->hear_number(), 0x401);
  EXPECT_EQ(owner->hear_number(), 0x73);
  EXPECT_EQ(owner->hear_number(), 0x5A5A5A5A) << "only the used words are written";
  EXPECT_EQ(owner->hear_number(), 2);
  EXPECT_EQ(owner->hear_number(), 0);
  EXPECT_EQ(owner->hear_number(), EFAULT);
  EXPECT_EQ(owner->hear_number(), EINVAL);
}

TEST_F(RmsProgram, PrginfoGivesTheFullCountOrRefuses) {
  auto owner = session(7, [&](Child& self) {
    Child* task = new Child([](Child& me) { return me.hear(); });
    self.tell_number(task->pid());
    return 0;
  });
  const pid_t task = owner->hear_number();
  ASSERT_EQ(owner->hear(), 'r');
  std::array<pid_t, 4> pids{};
  int count = 0;

  EXPECT_EQ(outcome(vendor_.prginfo(8, 4, pids.data(), &count)), ESRCH);
  ASSERT_EQ(vendor_.prginfo(7, 4, pids.data(), &count), 0);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(pids[0], task) << "newest first";
  EXPECT_EQ(pids[1], owner->pid()) << "the first member last";
  pids = {};
  ASSERT_EQ(vendor_.prginfo(7, 1, pids.data(), &count), 0);
  EXPECT_EQ(count, 2);
  EXPECT_EQ(pids[0], task);
  EXPECT_EQ(pids[1], 0) << "not written";
  mock_->set_option("short_prginfo_einval", 1);
  EXPECT_EQ(outcome(vendor_.prginfo(7, 1, pids.data(), &count)), EINVAL);
  EXPECT_EQ(vendor_.prginfo(7, 2, pids.data(), &count), 0);
  vendor_.prgsignal(7, SIGKILL);
}

TEST_F(RmsProgram, PrgidsListsTheNode) {
  std::array<int, 4> ids{};
  int count = -1;
  EXPECT_EQ(outcome(vendor_.prgids(0, ids.data(), &count)), EINVAL);
  ASSERT_EQ(vendor_.prgids(4, ids.data(), &count), 0);
  EXPECT_EQ(count, 0);
  const auto one = session(11);
  const auto two = session(12);

  ASSERT_EQ(vendor_.prgids(4, ids.data(), &count), 0);

  EXPECT_EQ(count, 2);
  EXPECT_THAT((std::array{ids[0], ids[1]}), testing::UnorderedElementsAre(11, 12));
  ASSERT_EQ(vendor_.prgids(1, ids.data(), &count), 0);
  EXPECT_EQ(count, 1) << "min(count, max)";
}

TEST_F(RmsProgram, SignalIsForRootAndOwner) {
  auto owner = session(7);
  EXPECT_EQ(outcome(vendor_.prgsignal(8, 0)), ESRCH);
  ::setenv("BACKPLANE_MOCK_UID", "1001", 1);
  EXPECT_EQ(outcome(vendor_.prgsignal(7, 0)), EACCES);
  EXPECT_EQ(outcome(vendor_.prgsuspend(7)), EACCES);
  EXPECT_EQ(outcome(vendor_.prgresume(7)), EACCES);
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(outcome(vendor_.prgsignal(7, 999)), 0) << "no range check";
  mock_->set_option("signal_range_check", 1);
  EXPECT_EQ(outcome(vendor_.prgsignal(7, 999)), EINVAL);

  EXPECT_EQ(outcome(vendor_.prgsignal(7, SIGTERM)), 0);

  EXPECT_EQ(owner->wait(), 128 + SIGTERM);
}

TEST_F(RmsProgram, SuspendStopsAndResumeContinues) {
  auto owner = session(7);
  int status = 0;

  ASSERT_EQ(vendor_.prgsuspend(7), 0);
  ASSERT_EQ(::waitpid(owner->pid(), &status, WUNTRACED), owner->pid());
  EXPECT_TRUE(WIFSTOPPED(status));
  ASSERT_EQ(vendor_.prgresume(7), 0);
  ASSERT_EQ(::waitpid(owner->pid(), &status, WCONTINUED), owner->pid());
  EXPECT_TRUE(WIFCONTINUED(status));
  EXPECT_EQ(outcome(vendor_.prgsuspend(8)), ESRCH);
}

TEST_F(RmsProgram, MembersCanIgnoreSignalsForAWhile) {
  mock_->set_option("ignore_term", 1);
  mock_->set_option("ignore_kill", 2);
  auto owner = session(7);

  EXPECT_EQ(vendor_.prgsignal(7, SIGTERM), 0);
  EXPECT_EQ(vendor_.prgsignal(7, SIGKILL), 0);
  EXPECT_EQ(vendor_.prgsignal(7, SIGKILL), 0);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), ECHILD);
  EXPECT_EQ(vendor_.prgsignal(7, SIGKILL), 0);

  EXPECT_EQ(owner->wait(), 128 + SIGKILL);
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
}

}  // namespace
}  // namespace backplane_mock
