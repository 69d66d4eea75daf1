// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <new>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/backends/linux_support.h"

namespace hal::linux_host {
namespace {

using conformance::Channel;
using conformance::fails_with;
using conformance::process_state;
using conformance::SignalCounts;
using conformance::succeeds;
using conformance::TestProcess;
using conformance::wait_until;
using std::chrono::milliseconds;
using testing::HasSubstr;
using testing::IsEmpty;
using Pids = std::vector<pid_t>;

void echo(Channel& channel) {
  while (true) channel.send(channel.receive());
}

/// A version 1 freezer group: its frozen members do not even die of SIGKILL.
class Freezer {
 public:
  Freezer() : path_("/sys/fs/cgroup/freezer/pgid_test_" + std::to_string(::getpid())) {
    usable_ = ::mkdir(path_.c_str(), 0700) == 0;
  }
  ~Freezer() {
    if (!usable_) return;
    set("THAWED");
    // The group can go as soon as its last member has been reaped.
    static_cast<void>(wait_until([this] { return ::rmdir(path_.c_str()) == 0 || errno != EBUSY; }));
  }
  Freezer(const Freezer&) = delete;
  Freezer& operator=(const Freezer&) = delete;

  [[nodiscard]] bool freeze(pid_t pid) const {
    if (!usable_) return false;
    std::ofstream(path_ + "/cgroup.procs") << pid << std::flush;
    return wait_until([this] {
      set("FROZEN");
      std::string state;
      std::ifstream(path_ + "/freezer.state") >> state;
      return state != "FREEZING";
    });
  }
  void set(const char* state) const {
    std::ofstream(path_ + "/freezer.state") << state << std::flush;
  }

 private:
  std::string path_;
  bool usable_ = false;
};

TEST_P(PgidTest, CheckA08_BystandersReceiveNothingWhateverTheId) {
  const SignalCounts counts;
  TestProcess bystander([&](Channel& channel) {
    counts.install();
    channel.send(0);
    echo(channel);
  });
  static_cast<void>(bystander.channel().receive());
  ASSERT_EQ(::setpgid(bystander.pid(), bystander.pid()), 0);
  const auto group = static_cast<std::uint64_t>(bystander.pid());

  for (const std::uint64_t number :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{0x100000001U}, ~std::uint64_t{0}, group,
        group | std::uint64_t{1} << 32U, ~group + 1, 0xffffffffU - group + 1}) {
    for (int signal_number = 0; signal_number <= 64; ++signal_number) {
      EXPECT_TRUE(fails_with(aggregate_->signal(ContainerId{number}, signal_number),
                             Errc::not_found, ESRCH));
    }
  }

  bystander.channel().send(0);
  static_cast<void>(bystander.channel().receive());
  EXPECT_EQ(counts.total(), 0);
  EXPECT_TRUE(bystander.is_alive());
}

TEST_P(PgidTest, CheckA10_TheWholeTreeGetsASignalOnce) {
  const SignalCounts task_counts;
  const SignalCounts child_counts;
  const SignalCounts grandchild_counts;
  TestProcess task([&](Channel& channel) {
    task_counts.install();
    static_cast<void>(channel.receive());
    if (::fork() != 0) return;
    child_counts.install();
    if (::fork() != 0) conformance::park();
    grandchild_counts.install();
    channel.send(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  static_cast<void>(task.channel().receive());
  ASSERT_EQ(members(id).size(), 3U) << "a child joined after its parent was added";

  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGRTMIN)));
  // Delivered in the order of their numbers: after this one, none of the first is under way.
  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGRTMIN + 1)));

  for (const auto* counts : {&task_counts, &child_counts, &grandchild_counts}) {
    ASSERT_TRUE(wait_until([&] { return counts->of(SIGRTMIN + 1) == 1; }));
    EXPECT_EQ(counts->of(SIGRTMIN), 1);
    EXPECT_EQ(counts->total(), 2);
  }
}

TEST_P(PgidTest, CheckA13_WorkStopsAndGoesOn) {
  void* memory = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto* work = new (memory) std::atomic<std::uint64_t>(0);
  TestProcess task([work](Channel&) {
    while (true) work->fetch_add(1);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  ASSERT_TRUE(wait_until([work] { return work->load() > 0; }));

  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGSTOP)));
  task.wait_for_stop();
  const auto stopped_at = work->load();
  for (int i = 0; i < 100; ++i) static_cast<void>(members(id));
  EXPECT_EQ(work->load(), stopped_at);
  ASSERT_TRUE(succeeds(aggregate_->signal(id, SIGCONT)));

  EXPECT_TRUE(wait_until([&] { return work->load() != stopped_at; }));
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  ::munmap(memory, 4096);
}

TEST_P(PgidTest, CheckA11_TracedAndVforkedMembersDie) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    const pid_t traced = ::fork();
    if (traced == 0) {
      ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
      ::raise(SIGSTOP);
      conformance::park();
    }
    ::waitpid(traced, nullptr, WUNTRACED);
    const pid_t vforker = ::fork();
    if (vforker == 0) {
      // Shares memory with its child and waits in the kernel until that one is done.
      if (::vfork() == 0) {
        while (true) ::pause();
      }
    }
    channel.send(traced);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  const auto traced = static_cast<pid_t>(task.channel().receive());
  ASSERT_TRUE(wait_until([&] { return members(id).size() == 4; }));
  ASSERT_EQ(process_state(traced), 't');

  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

  EXPECT_EQ(task.reap(), SIGKILL);
}

TEST_P(PgidTest, CheckA12_ForkBombsEnd) {
  for (int round = 0; round < 10; ++round) {
    TestProcess bomb([](Channel& channel) {
      static_cast<void>(channel.receive());
      channel.send(0);
      for (int depth = 0; depth < 7; ++depth) static_cast<void>(::fork());
      while (true) {
        const pid_t child = ::fork();
        if (child == 0) ::_exit(0);
        if (child > 0) ::waitpid(child, nullptr, 0);
      }
    });
    step_ = new_step();
    const auto id = create();
    ASSERT_TRUE(succeeds(add_task(id, bomb)));
    bomb.channel().send(0);
    static_cast<void>(bomb.channel().receive());
    ASSERT_TRUE(wait_until([&] { return members(id).size() > 20; }));

    ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));

    ASSERT_EQ(bomb.reap(), SIGKILL);
    while (::waitpid(-1, nullptr, WNOHANG) > 0) continue;  // orphans came to the test
  }
}

TEST_P(PgidTest, CheckA19_OnlyZombiesIsEmptyAtOnce) {
  TestProcess task([](Channel& channel) {
    static_cast<void>(channel.receive());
    ::_exit(0);
  });
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  task.channel().send(0);
  task.wait_for_zombie();

  ASSERT_TRUE(fails_with(aggregate_->signal(id, SIGKILL), Errc::not_found, ESRCH));
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, milliseconds{0})));
}

TEST_P(PgidTest, CheckA19_ASurvivorIsNamedAndNeverSuccess) {
  const Freezer freezer;
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  if (!freezer.freeze(task.pid()))
    GTEST_SKIP() << "needs a writable version 1 freezer, as root has";

  const auto waited = aggregate_->wait_empty(id, milliseconds{50});
  const bool frozen = task.is_alive();
  const auto held = waited ? Pids() : members(id);
  freezer.set("THAWED");  // before any assertion: a frozen task cannot be ended by the test

  EXPECT_TRUE(frozen);
  ASSERT_TRUE(fails_with(waited, Errc::timed_out, ETIMEDOUT));
  EXPECT_THAT(waited.error().detail, HasSubstr(std::to_string(task.pid()) + " ("));
  EXPECT_THAT(waited.error().detail, HasSubstr("state D"));
  EXPECT_EQ(held, Pids{task.pid()}) << "still held after the failure";
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  EXPECT_EQ(task.reap(), SIGKILL);
}

TEST_P(PgidTest, CheckA19_ARefusedKillIsReported) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to have a member that its user may not signal";
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));

  TestProcess user([&](Channel& channel) {
    if (::setresuid(65534, 65534, 65534) != 0) channel.send(-1);
    const auto killed = aggregate_->signal(id, SIGKILL);
    channel.send(killed ? 0 : killed.error().code);
    const auto waited = aggregate_->wait_empty(id, milliseconds{20});
    channel.send(waited ? 0 : waited.error().code);
    channel.send(!waited && waited.error().detail.find("refused") != std::string::npos ? 1 : 0);
  });

  EXPECT_EQ(user.channel().receive(), EPERM);
  EXPECT_EQ(user.channel().receive(), ETIMEDOUT);
  EXPECT_EQ(user.channel().receive(), 1);
  EXPECT_TRUE(task.is_alive());
}

TEST_P(PgidTest, CheckA24_AReusedNumberIsNobodysMember) {
  const auto remember = [this](ContainerId id) {
    TestProcess task;
    EXPECT_TRUE(succeeds(add_task(id, task)));
    return task.pid();
  };
  const auto id = create();
  const pid_t number = remember(id);
  const SignalCounts counts;
  TestProcess stranger(
      [&](Channel& channel) {
        counts.install();
        channel.send(::setpgid(0, 0));
        echo(channel);
      },
      number);
  if (stranger.pid() < 0) GTEST_SKIP() << "needs CAP_CHECKPOINT_RESTORE to choose a process number";
  ASSERT_EQ(stranger.channel().receive(), 0);
  ASSERT_EQ(::getpgid(stranger.pid()), number);

  for (const int signal_number : {0, SIGTERM, SIGKILL}) {
    EXPECT_TRUE(fails_with(aggregate_->signal(id, signal_number), Errc::not_found, ESRCH));
  }
  EXPECT_THAT(members(id), IsEmpty());
  EXPECT_EQ(aggregate_->find(number), kNoContainer);
  const auto next = create();
  step_.process_group = number;
  EXPECT_TRUE(succeeds(aggregate_->add(next, number, step_))) << "the stranger is free to join";
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, milliseconds{0})));

  stranger.channel().send(0);
  static_cast<void>(stranger.channel().receive());
  EXPECT_EQ(counts.total(), 0);
  EXPECT_EQ(aggregate_->find(number), next) << "forgetting the old group kept the new one";
}

TEST_P(PgidTest, AGroupOutlivesItsLeader) {
  auto leader = std::make_unique<TestProcess>();
  TestProcess second;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, *leader)));
  ASSERT_TRUE(succeeds(add_task(id, second)));
  leader.reset();

  EXPECT_TRUE(succeeds(aggregate_->signal(id, 0)));
  EXPECT_EQ(members(id), Pids{second.pid()});
  EXPECT_TRUE(succeeds(aggregate_->signal(id, SIGKILL)));

  EXPECT_EQ(second.reap(), SIGKILL);
  EXPECT_TRUE(succeeds(aggregate_->wait_empty(id, milliseconds{0})));
}

TEST_P(PgidTest, CheckA25_AForgedNameMakesNobodyAMember) {
  TestProcess task;
  const auto id = create();
  ASSERT_TRUE(succeeds(add_task(id, task)));
  const std::string group = std::to_string(task.pid());
  const std::string name = ") S 1 " + group;  // as a parser would read it that stops too early
  TestProcess forger([&](Channel& channel) {
    ::prctl(PR_SET_NAME, name.c_str());
    channel.send(0);
  });
  static_cast<void>(forger.channel().receive());

  EXPECT_EQ(members(id), Pids{task.pid()});
  EXPECT_EQ(aggregate_->find(forger.pid()), kNoContainer);
  ASSERT_TRUE(succeeds(aggregate_->wait_empty(id, kPatience)));
  EXPECT_TRUE(forger.is_alive());
}

}  // namespace
}  // namespace hal::linux_host
