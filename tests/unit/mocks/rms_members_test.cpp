// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/ipc.h>
#include <sys/shm.h>
#include <vector>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class RmsMembers : public ElanMockTest {
 protected:
  std::vector<pid_t> members(int id) {
    std::array<pid_t, 256> pids{};
    int count = 0;
    EXPECT_EQ(vendor_.prginfo(id, 256, pids.data(), &count), 0) << errno;
    return {pids.begin(), pids.begin() + std::min(count, 256)};
  }
  int program_of(pid_t pid) {
    int id = 0;
    return vendor_.getprgid(pid, &id) == 0 ? id : -errno;
  }
};

TEST_F(RmsMembers, ForkInheritsProgramIndexAndContext) {
  ELAN_CAPABILITY cap = capability();
  auto owner = session(7, [&](Child& self) {
    vendor_.prgaddcap(7, 3, &cap);
    vendor_.setcap(3, 1);
    Child task([&](Child& me) {
      ELAN_CAPABILITY got{};
      int index = -9;
      vendor_.mycap(&index);
      me.tell_number(index);
      me.tell_number(vendor_.getcap(3, &got) == 0 ? got.cap_mycontext : -errno);
      return 0;
    });
    self.tell_number(task.hear_number());
    self.tell_number(task.hear_number());
    return 0;
  });

  EXPECT_EQ(owner->hear_number(), 3);
  EXPECT_EQ(owner->hear_number(), 0x401);
  owner->hear();
  EXPECT_EQ(program_of(owner->pid()), 7);
  EXPECT_EQ(program_of(::getpid()), -ESRCH);
  EXPECT_EQ(program_of(-1), -ESRCH);
}

TEST_F(RmsMembers, AnOrphanInItsOwnSessionWithNewProgramAndNoEnvironmentStays) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe2(pipe_ends, O_CLOEXEC), 0);
  auto owner = session(7, [&](Child&) {
    const pid_t middle = ::fork();
    if (middle == 0) {
      if (::fork() == 0) {
        ::setsid();
        const pid_t self = ::getpid();
        static_cast<void>(!::write(pipe_ends[1], &self, sizeof self));
        char* const none[] = {nullptr};
        ::execle("/bin/sleep", "sleep", "60", nullptr, none);
      }
      ::_exit(0);
    }
    ::waitpid(middle, nullptr, 0);
    return 0;
  });
  owner->hear();
  owner->tell();
  EXPECT_EQ(owner->wait(), 0);
  pid_t orphan = 0;
  ASSERT_EQ(::read(pipe_ends[0], &orphan, sizeof orphan), static_cast<ssize_t>(sizeof orphan));

  EXPECT_THAT(members(7), ElementsAre(orphan));
  EXPECT_EQ(program_of(orphan), 7);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), ECHILD);

  EXPECT_EQ(vendor_.prgsignal(7, SIGKILL), 0);
  while (::kill(orphan, 0) == 0 && !members(7).empty()) ::sched_yield();
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
  ::close(pipe_ends[0]);
  ::close(pipe_ends[1]);
}

TEST_F(RmsMembers, KillReachesAForkingProgram) {
  auto owner = session(7, [&](Child&) {
    for (int i = 0; i < 3; ++i) {
      if (::fork() == 0) {
        for (;;) {
          const pid_t next = ::fork();
          if (next > 0) ::_exit(0);  // runs away from its parent for ever
          if (next < 0) ::sched_yield();
        }
      }
    }
    return 0;
  });
  owner->hear();

  ASSERT_EQ(vendor_.prgsignal(7, SIGKILL), 0);

  EXPECT_EQ(owner->wait(), 128 + SIGKILL);
  while (!members(7).empty()) vendor_.prgsignal(7, SIGKILL);
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
}

TEST_F(RmsMembers, AForkInsideAKilledProgramDiesAtBirth) {
  mock_->set_option("ignore_kill", 1);  // hangs in the kernel, then goes on
  Child owner([&](Child& self) {
    if (vendor_.prgcreate(7, 0, 1) != 0) return 1;
    self.tell('r');
    self.hear();
    Child late([](Child&) { return 0; });
    return late.wait();
  });
  owner.hear();
  ASSERT_EQ(vendor_.prgsignal(7, SIGKILL), 0);

  owner.tell();

  EXPECT_EQ(owner.wait(), 128 + SIGKILL) << "the child never ran";
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
}

TEST_F(RmsMembers, AProgramMadeInsideAnotherBelongsToBoth) {
  auto outer = session(7, [&](Child& self) {
    Child* inner = new Child([&](Child& me) {
      if (vendor_.prgcreate(8, 0, 1) != 0) return 1;
      me.tell('r');
      return static_cast<int>(me.hear());
    });
    inner->hear();
    self.tell_number(inner->pid());
    return 0;
  });
  const pid_t inner = outer->hear_number();
  outer->hear();

  EXPECT_EQ(program_of(inner), 8) << "the innermost";
  EXPECT_THAT(members(8), ElementsAre(inner));
  EXPECT_THAT(members(7), ElementsAre(inner, outer->pid()));
  vendor_.prgsignal(7, SIGKILL);
  EXPECT_EQ(outer->wait(), 128 + SIGKILL);
  while (!members(7).empty()) ::sched_yield();
  EXPECT_EQ(vendor_.prgdestroy(8), 0);
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
}

TEST_F(RmsMembers, AReusedIdIsANewProgram) {
  auto first = session(7);
  first->tell();
  first->wait();
  ASSERT_EQ(vendor_.prgdestroy(7), 0);

  auto second = session(7);

  EXPECT_THAT(members(7), ElementsAre(second->pid()));
}

TEST_F(RmsMembers, AMemberOfAnotherUserIsSeen) {
  if (::geteuid() != 0) GTEST_SKIP() << "changing the user needs CAP_SETUID";
  auto owner = session(7, [&](Child&) { return ::setresuid(65534, 65534, 65534); });
  owner->hear();
  EXPECT_EQ(program_of(owner->pid()), 7);
  Child other([&](Child&) {  // neither root nor that user: prlimit is refused, /proc answers
    if (::setresuid(65533, 65533, 65533) != 0) return 1;
    vendor_.rmsmod_fini();  // opens its control file anew, which any user may
    return program_of(owner->pid()) == 7 ? 0 : 2;
  });

  EXPECT_EQ(other.wait(), 0);
}

TEST_F(RmsMembers, TheCreatorsSegmentGoesWithIt) {
  const int program = 0x300000 + static_cast<int>(::getpid() % 0xFFFFF);
  const auto key = static_cast<key_t>((static_cast<std::uint32_t>(program) << 9U) - 1U);
  for (const bool reap : {true, false}) {
    mock_->set_option("reap_segments", reap ? 1 : 0);
    auto owner = session(program, [&](Child& self) {
      self.tell_number(::shmget(key, 4096, IPC_CREAT | IPC_EXCL | 0600));
      return 0;
    });
    const int segment = owner->hear_number();
    ASSERT_GE(segment, 0);
    owner->hear();
    EXPECT_THAT(mock_->leaks(), Contains(HasSubstr("statistics segment")));
    owner->tell();
    owner->wait();

    EXPECT_EQ(vendor_.prgdestroy(program), 0);

    shmid_ds status{};
    EXPECT_EQ(::shmctl(segment, IPC_STAT, &status), reap ? -1 : 0);
    if (reap) {
      EXPECT_THAT(mock_->leaks(), IsEmpty());
    } else {
      EXPECT_THAT(mock_->leaks(), ElementsAre(HasSubstr("statistics segment")));
      ::shmctl(segment, IPC_RMID, nullptr);
    }
  }
}

}  // namespace
}  // namespace backplane_mock
