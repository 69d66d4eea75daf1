// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/conformance/process_aggregate.h"

namespace hal::conformance {
namespace {

using testing::IsEmpty;
using Pids = std::vector<pid_t>;

pid_t ask(TestProcess& process) {
  process.channel().send(0);
  return static_cast<pid_t>(process.channel().receive());
}

/// Answers on request, forever.
void echo(Channel& channel) {
  while (true) channel.send(channel.receive());
}

TEST_P(ProcessAggregateTest, PA10_IdsThatNameNothingReachNoProcess) {
  const SignalCounts counts;
  TestProcess bystander([&](Channel& channel) {
    counts.install();
    channel.send(0);
    echo(channel);
  });
  static_cast<void>(bystander.channel().receive());
  const auto empty = create();
  const auto destroyed = create();
  ASSERT_TRUE(succeeds(aggregate_->destroy(destroyed)));

  for (const std::uint64_t number :
       {to_number(empty), to_number(destroyed), std::uint64_t{0}, std::uint64_t{1},
        std::uint64_t{0x100000001U}, ~std::uint64_t{0}, ~std::uint64_t{0} << 32,
        static_cast<std::uint64_t>(::getpgrp()), static_cast<std::uint64_t>(bystander.pid())}) {
    for (const int signal_number : {0, SIGTERM, SIGCONT}) {
      EXPECT_TRUE(fails_with(aggregate_->signal(ContainerId{number}, signal_number),
                             Errc::not_found, ESRCH))
          << number;
    }
  }

  static_cast<void>(ask(bystander));
  EXPECT_EQ(counts.total(), 0);
}

TEST_P(ProcessAggregateTest, PA11_NumbersThatAreNoSignalAreRefused) {
  TestProcess task(echo);
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  for (const int number : {-1, -9, 65, 0x7fffffff}) {
    EXPECT_TRUE(fails_with(aggregate_->signal(id, number), Errc::invalid_argument, EINVAL))
        << number;
  }

  static_cast<void>(ask(task));
  EXPECT_TRUE(task.is_alive());
}

TEST_P(ProcessAggregateTest, PA12_LaterChildrenAreMembers) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    const pid_t middle = ::fork();
    if (middle == 0) {
      channel.send(fork_parked());
      ::_exit(0);  // double fork: the grandchild loses its parent
    }
    ::waitpid(middle, nullptr, 0);
    channel.send(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  const pid_t grandchild = ask(task);
  static_cast<void>(task.channel().receive());

  EXPECT_EQ(aggregate_->find(grandchild), id);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  int status = 0;
  ASSERT_EQ(::waitpid(grandchild, &status, 0), grandchild) << "orphans come to the test";
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
}

TEST_P(ProcessAggregateTest, PA13_TheCallerIsNeverSignalled) {
  const SignalCounts counts;
  const SignalCounts caller_counts;
  TestProcess task([&](Channel& channel) {
    counts.install();
    channel.send(0);
    echo(channel);
  });
  static_cast<void>(task.channel().receive());
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  TestProcess member([&](Channel& channel) {
    caller_counts.install();
    ::setpgid(0, step_.process_group);
    channel.send(aggregate_->signal(id, SIGTERM) ? 1 : 0);
    channel.send(aggregate_->find(::getpid()) == id ? 1 : 0);
  });

  EXPECT_EQ(member.channel().receive(), 1);

  EXPECT_EQ(member.channel().receive(), 1) << "it is a member itself";
  static_cast<void>(ask(task));
  EXPECT_EQ(counts.of(SIGTERM), 1);
  EXPECT_EQ(caller_counts.total(), 0);
  EXPECT_TRUE(member.is_alive());
}

TEST_P(ProcessAggregateTest, PA14_NothingJoinsAnAggregateThatIsBeingKilled) {
  if (!GetParam().closes_on_kill) GTEST_SKIP() << "the vendor's interface cannot refuse newcomers";
  TestProcess task;
  TestProcess late;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGKILL)));

  EXPECT_TRUE(fails_with(aggregate_->add(id, late.pid(), step_), Errc::busy, EBUSY));

  EXPECT_TRUE(late.is_alive());
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
}

TEST_P(ProcessAggregateTest, PA15_StopAndContinue) {
  TestProcess task(echo);
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGSTOP)));
  task.wait_for_stop();
  EXPECT_EQ(process_state(task.pid()), 'T');
  EXPECT_TRUE(succeeds(aggregate_->signal(id, 0))) << "stopped is alive";
  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGCONT)));

  EXPECT_EQ(ask(task), 0) << "it runs again";
}

TEST_P(ProcessAggregateTest, PA15_KillReachesStoppedMembers) {
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGSTOP)));
  task.wait_for_stop();

  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGKILL)));

  EXPECT_EQ(task.reap(), SIGKILL);
}

TEST_P(ProcessAggregateTest, PA16_AProcessWithoutItsFirstThreadIsAMember) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    leave_only_a_thread([&channel] { channel.send(0); });
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  static_cast<void>(ask(task));
  ASSERT_EQ(process_state(task.pid()), 'Z');

  EXPECT_TRUE(succeeds(aggregate_->signal(id, 0)));
  EXPECT_EQ(members(id), Pids{task.pid()});
  EXPECT_EQ(aggregate_->find(task.pid()), id);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_EQ(task.reap(), SIGKILL);
}

TEST_P(ProcessAggregateTest, PA17_NamesOfMembersDoNotMatter) {
  for (const char* name : {"my job", "a) S 1 1 (x", ") Z 0 0", "(((", "slurmstepd", "\n", ""}) {
    TestProcess task([name](Channel& channel) {
      ::prctl(PR_SET_NAME, name);
      channel.send(0);
    });
    static_cast<void>(task.channel().receive());
    step_ = new_step();
    const auto id = create();
    ASSERT_TRUE(succeeds(add_task(id, task)));

    EXPECT_EQ(members(id), Pids{task.pid()}) << name;
    EXPECT_EQ(aggregate_->find(task.pid()), id) << name;
    ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience))) << name;
    EXPECT_EQ(task.reap(), SIGKILL) << name;
  }
}

TEST_P(ProcessAggregateTest, PA19_UsableInAChildAfterFork) {
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  TestProcess child([&](Channel& channel) {
    channel.send(static_cast<std::int64_t>(to_number(aggregate_->find(task.pid()))));
    const auto pids = aggregate_->pids(id);
    channel.send(pids && *pids == Pids{task.pid()} ? 1 : 0);
  });

  EXPECT_EQ(static_cast<std::uint64_t>(child.channel().receive()), to_number(id));
  EXPECT_EQ(child.channel().receive(), 1);
}

TEST_P(ProcessAggregateTest, PA20_ManyThreadsAtOnce) {
  if (!GetParam().several_per_manager) GTEST_SKIP() << "one aggregate per manager by design";
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  std::atomic<int> faults{0};
  const auto work = [&] {
    for (int i = 0; i < 50; ++i) {
      const auto mine = aggregate_->create(step_);
      if (!mine || aggregate_->find(task.pid()) != id) ++faults;
      if (!aggregate_->signal(id, 0) || !aggregate_->pids(id)) ++faults;
      if (mine && (aggregate_->signal(*mine, SIGTERM) || !aggregate_->destroy(*mine))) ++faults;
    }
  };

  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) threads.emplace_back(work);
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(faults.load(), 0);
  EXPECT_TRUE(task.is_alive());
}

TEST_P(ProcessAggregateTest, PA21_LeavingIsImpossibleOrDocumented) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    const pid_t child = ::fork();
    if (child == 0) {
      ::setsid();
      channel.send(::getpid());
      park();
    }
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  const pid_t leaver = ask(task);

  if (GetParam().holds_setsid) {
    EXPECT_EQ(aggregate_->find(leaver), id);
    EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
    EXPECT_THAT(process_state(leaver), testing::AnyOf('\0', 'Z', 'X'));
  } else {
    EXPECT_EQ(aggregate_->find(leaver), kNoContainer);
    EXPECT_THAT(std::string(aggregate_->weakness()), testing::HasSubstr("setsid"));
    EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
    EXPECT_THAT(process_state(leaver), testing::AnyOf('R', 'S'))
        << "what left was signalled all the same";
  }
}

TEST_P(ProcessAggregateTest, PA22_NoDescriptorIsLeftOrInherited) {
  const auto cycle = [&](bool check) {
    TestProcess task;
    step_ = new_step();
    const auto id = create();
    ASSERT_TRUE(succeeds(add_task(id, task)));
    if (check) {
      for (const int fd : open_descriptors()) {
        if (std::binary_search(inherited_.begin(), inherited_.end(), fd)) continue;
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0) << "an exec would pass on " << fd;
      }
    }
    ASSERT_TRUE(succeeds(aggregate_->pids(id)));
    ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  };
  cycle(false);
  const auto before = open_descriptors();

  for (int i = 0; i < 20; ++i) cycle(i == 0);

  EXPECT_EQ(open_descriptors(), before);
}

TEST_P(ProcessAggregateTest, PA23_TakesALeaderOfItsOwnSession) {
  if (!GetParam().adopts_foreign) GTEST_SKIP() << "only descendants of the manager can be members";
  TestProcess task;
  TestProcess terminal([](Channel& channel) {
    ::setsid();
    channel.send(0);
  });
  static_cast<void>(terminal.channel().receive());
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  ASSERT_TRUE(succeeds(aggregate_->add(id, terminal.pid(), step_)));

  Pids expected{task.pid(), terminal.pid()};
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(members(id), expected);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  EXPECT_EQ(terminal.reap(), SIGKILL);
}

}  // namespace
}  // namespace hal::conformance
