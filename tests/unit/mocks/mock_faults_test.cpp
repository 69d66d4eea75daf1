// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <atomic>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <memory>
#include <thread>
#include <vector>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

using MockFaults = ElanMockTest;

TEST_F(MockFaults, TheNthCallFailsWithoutItsEffect) {
  ASSERT_TRUE(mock_->inject("rms_prgcreate", 2, ENOMEM));

  const auto one = session(1);
  EXPECT_EQ(outcome(vendor_.prgcreate(2, 0, 1)), ENOMEM);

  int id = 0;
  EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH);
  const auto three = session(3);
  EXPECT_FALSE(mock_->inject(std::string(40, 'x'), 1, EIO));
}

TEST_F(MockFaults, ZeroIsEveryCallUntilReset) {
  mock_->inject("elanctrl_open", 0, ENXIO);
  void* handle = nullptr;
  EXPECT_EQ(outcome(vendor_.open_control(&handle)), ENXIO);
  EXPECT_EQ(outcome(vendor_.open_control(&handle)), ENXIO);

  mock_->reset();

  EXPECT_EQ(outcome(vendor_.open_control(&handle)), 0);
  EXPECT_EQ(vendor_.close_control(handle), 0);
}

TEST_F(MockFaults, ADelayedCallLetsOthersPass) {
  mock_->delay("rms_prgids", 1, 60000);
  Child slow([&](Child&) {
    int ids[1];
    int count = 0;
    return vendor_.prgids(1, ids, &count);
  });

  int id = 0;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH);

  EXPECT_THAT(mock_->trace(), Not(Contains(Field(&TracedCall::function, "rms_prgids"))));
  EXPECT_EQ(slow.kill_and_wait(), 128 + SIGKILL);
}

TEST_F(MockFaults, TheCallerIsKilledBeforeOrAfterTheEffect) {
  mock_->kill_before("rms_prgcreate", 1);
  Child before([&](Child&) { return vendor_.prgcreate(1, 0, 1); });
  EXPECT_EQ(before.wait(), 128 + SIGKILL);
  EXPECT_THAT(mock_->leaks(), IsEmpty());

  mock_->kill_after("rms_prgcreate", 1);
  Child after([&](Child&) { return vendor_.prgcreate(1, 0, 1); });
  EXPECT_EQ(after.wait(), 128 + SIGKILL);
  EXPECT_THAT(mock_->leaks(), ElementsAre("program 1 on node 5 of uid 0, 0 members"));
  EXPECT_EQ(vendor_.prgdestroy(1), 0);
}

TEST_F(MockFaults, AClosedControlDescriptorIsEBADFUntilInitAgain) {
  ASSERT_EQ(vendor_.rmsmod_init(), 0);
  int id = 0;
  EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH);
  struct stat mine {};
  struct stat other {};
  ASSERT_EQ(::stat(state_.c_str(), &mine), 0);
  int control = -1;
  for (int fd = 3; fd < 256; ++fd) {  // the youngest descriptor on the state is the library's
    if (::fstat(fd, &other) == 0 && other.st_ino == mine.st_ino) control = fd;
  }

  ASSERT_EQ(::close(control), 0);

  EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), EBADF);
  EXPECT_EQ(outcome(vendor_.setcap(0, 0)), EBADF);
  const int thief = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (thief == control) {
    EXPECT_EQ(outcome(vendor_.setcap(0, 0)), ENOTTY) << "the number is another file now";
  }
  vendor_.rmsmod_fini();
  ASSERT_EQ(vendor_.rmsmod_init(), 0);
  EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH);
  ::close(thief);
}

TEST_F(MockFaults, AUsableLibraryAfterItsDescriptorsWereAllClosed) {
  const auto owner = session(7);
  Child watcher([&](Child& self) {  // what a watcher of a step does before it settles down
    const int keep = self.hear_number();
    for (int fd = 3; fd < 256; ++fd) {
      if (fd != keep) ::close(fd);
    }
    vendor_.rmsmod_fini();
    int count = -1;
    return vendor_.prginfo(7, 0, nullptr, &count) == 0 && count == 1 ? 0 : 10 + errno;
  });
  watcher.tell_number(255);

  EXPECT_EQ(watcher.wait(), 0);
}

TEST_F(MockFaults, TheTraceIsOrderedAndHoldsNoKey) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();
  vendor_.create_cap(handle, &cap);
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(vendor_.prgcreate(7, 1001, 2), -1);
  vendor_.close_control(handle);

  const std::vector<TracedCall> trace = mock_->trace();

  ASSERT_THAT(trace, SizeIs(4));
  EXPECT_EQ(trace[0].function, "elanctrl_open");
  EXPECT_EQ(trace[1].function, "elanctrl_create_cap");
  EXPECT_EQ(trace[1].arguments, "ctx=400.401 nodes=4.7 rails=1 type=a001");
  EXPECT_EQ(trace[2].arguments, "id=7 uid=1001 cpus=2");
  EXPECT_EQ(trace[2].result, -1);
  EXPECT_EQ(trace[2].error, EACCES);
  EXPECT_EQ(trace[2].uid, 1000U);
  EXPECT_EQ(trace[2].pid, ::getpid());
  EXPECT_EQ(trace[2].node, 5);
  for (std::size_t i = 1; i < trace.size(); ++i) {
    EXPECT_EQ(trace[i].sequence, trace[i - 1].sequence + 1);
    EXPECT_GE(trace[i].nanoseconds, trace[i - 1].nanoseconds);
  }
  for (const TracedCall& call : trace) EXPECT_THAT(to_string(call), Not(HasSubstr("11111111")));
  EXPECT_THAT(to_string(trace[2]), HasSubstr("rms_prgcreate(id=7 uid=1001 cpus=2) = -1 (EACCES)"));
}

TEST_F(MockFaults, LeaksNameEveryKindOfObject) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();
  vendor_.create_cap(handle, &cap);
  cap.cap_mycontext = 0x400;
  const auto task = mock_->attach_check(5, cap);
  const auto owner = session(7);

  EXPECT_THAT(mock_->leaks(),
              ElementsAre("program 7 on node 5 of uid 1000, 1 members",
                          "control handle on node 5, opened by pid " + std::to_string(::getpid()),
                          "capability on node 5: contexts 0x400-0x401, nodes 4-7",
                          "attachment on node 5: context 0x400 of rail 0 by pid " +
                              std::to_string(::getpid())));

  mock_->reset();
  EXPECT_THAT(mock_->leaks(), IsEmpty());
  EXPECT_THAT(mock_->trace(), IsEmpty());
  int id = 0;
  EXPECT_EQ(outcome(vendor_.getprgid(owner->pid(), &id)), ESRCH) << "the old mark means nothing";
  EXPECT_EQ(outcome(vendor_.close_control(handle)), 0);
}

TEST_F(MockFaults, ManyProcessesAtOnceLoseNothing) {
  constexpr int kProcesses = 12;
  constexpr int kRounds = 8;
  std::vector<std::unique_ptr<Child>> workers;
  for (int w = 0; w < kProcesses; ++w) {
    workers.push_back(std::make_unique<Child>([&, w](Child& self) {
      self.hear();
      for (int round = 0; round < kRounds; ++round) {
        void* handle = nullptr;
        ELAN_CAPABILITY cap = capability(0x400 + w * 8 + round, 0x400 + w * 8 + round);
        if (vendor_.open_control(&handle) != 0 || vendor_.create_cap(handle, &cap) != 0) return 1;
        Child step([&](Child&) { return outcome(vendor_.prgcreate(100 + w, 0, 1)); });
        if (step.wait() != 0) return 2;
        if (vendor_.prgdestroy(100 + w) != 0) return 3;
        if (vendor_.close_control(handle) != 0) return 4;
      }
      return 0;
    }));
  }
  for (const auto& worker : workers) worker->tell();

  for (const auto& worker : workers) EXPECT_EQ(worker->wait(), 0);

  EXPECT_THAT(mock_->leaks(), IsEmpty());
  const auto trace = mock_->trace();
  EXPECT_THAT(trace, SizeIs(kProcesses * kRounds * 5));
  EXPECT_TRUE(std::all_of(trace.begin(), trace.end(), [](const auto& c) { return c.error == 0; }));
}

TEST_F(MockFaults, ThreadsShareOneLibrary) {
  std::vector<std::thread> threads;
  std::array<void*, 8> handles{};
  std::atomic<int> granted{0};
  for (void*& handle : handles) {
    threads.emplace_back([&] {
      ELAN_CAPABILITY cap = capability();
      if (vendor_.open_control(&handle) != 0) return;
      if (vendor_.create_cap(handle, &cap) == 0) ++granted;
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(granted, 1) << "the same range is granted once";
  for (void* handle : handles) EXPECT_EQ(vendor_.close_control(handle), 0);
}

TEST_F(MockFaults, AProcessKilledInsideTheKernelStopsNobody) {
  for (int round = 0; round < 20; ++round) {
    Child busy([&](Child& self) {
      self.tell();
      for (;;) {
        int ids[1];
        int count = 0;
        vendor_.prgids(1, ids, &count);
      }
      return 0;
    });
    busy.hear();
    for (int i = 0; i < round * 10; ++i) ::sched_yield();
    EXPECT_EQ(busy.kill_and_wait(), 128 + SIGKILL);
    int id = 0;
    EXPECT_EQ(outcome(vendor_.getprgid(0, &id)), ESRCH);
  }
}

TEST_F(MockFaults, ABadStateFileIsRefused) {
  const std::string link = directory_ + "/link";
  ASSERT_EQ(::symlink(state_.c_str(), link.c_str()), 0);
  EXPECT_FALSE(ElanMock::open(link));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(ElanMock::open("/etc/passwd"));
  ::setenv("BACKPLANE_MOCK_STATE", (directory_ + "/none/state").c_str(), 1);
  void* handle = nullptr;
  EXPECT_EQ(outcome(vendor_.open_control(&handle)), ENODEV);
  EXPECT_EQ(outcome(vendor_.prgdestroy(1)), EBADF) << "as without the module";
}

}  // namespace
}  // namespace backplane_mock
