// SPDX-License-Identifier: BSD-3-Clause
// Calls of many threads at once; run under the thread sanitizer too.
#include <array>
#include <atomic>
#include <barrier>
#include <cerrno>
#include <thread>

#include "tests/unit/plugins/elan_step.h"
#include "tests/unit/plugins/proctrack_plugin.h"

namespace hal::test {
namespace {

TEST(SwitchLoading, Check05_FirstCallFromSixteenThreadsInitialisesOnce) {
  TestHost host;
  host.set_config("[switch/none]\nbackend = nonsense\n");  // each attempt to initialise logs a line
  const SwitchPlugin plugin("switch_none.so");
  {
    switch_jobinfo_t job = nullptr;
    ASSERT_EQ(plugin.alloc_jobinfo(&job), -1) << "a first call must read the configuration";
  }
  host.set_config("[switch/none]\n");
  (void)TestHost::take_log();
  constexpr int kThreads = 16;
  std::barrier start(kThreads);
  std::atomic<int> failures{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        switch_jobinfo_t job = nullptr;
        if (plugin.alloc_jobinfo(&job) != 0 || job == nullptr) ++failures;
        plugin.free_jobinfo(job);
      });
    }
  }

  EXPECT_EQ(failures, 0);
  EXPECT_TRUE(TestHost::take_log().empty());
}

TEST(SwitchElan, Check19_MessagesFlowWhileTheControllerBuilds) {
  const ElanSite site;
  ElanController controller(site);
  ASSERT_EQ(controller.restore(), 0);
  switch_jobinfo_t sample = controller.built("n[0-3]", 8);
  const auto bytes = controller.packed(sample);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> messages;
    for (int i = 0; i < 8; ++i) {
      messages.emplace_back([&] {
        while (!stop) {
          switch_jobinfo_t job = nullptr;
          TestBuffer in(bytes);
          TestBuffer out(16);
          if (controller.alloc_jobinfo(&job) != 0) ++wrong;
          if (controller.unpack_jobinfo(job, in.get()) != 0) ++wrong;
          if (controller.pack_jobinfo(job, out.get()) != static_cast<int>(bytes.size())) ++wrong;
          if (out.content() != bytes) ++wrong;
          controller.free_jobinfo(job);
        }
      });
    }
    for (int i = 0; i < 50; ++i) {
      switch_jobinfo_t job = controller.built("n[0-63]", 64);
      if (i % 2 == 0) {
        EXPECT_EQ(controller.job_step_complete(job, nullptr), 0);
      }
      controller.free_jobinfo(job);
    }
    stop = true;
  }

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(site.recorded().size(), 1U);
  controller.free_jobinfo(sample);
}

TEST(SwitchElan, Check20_ThirtyTwoThreadsPackOneCredential) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t job = plugin.built("n[0-3]", 8);
  const auto expected = plugin.packed(job);
  std::vector<std::vector<std::byte>> seen(32);
  {
    std::vector<std::jthread> threads;
    for (auto& mine : seen) threads.emplace_back([&] { mine = plugin.packed(job); });
  }

  for (const auto& bytes : seen) EXPECT_EQ(bytes, expected);
  EXPECT_EQ(plugin.packed(job), expected);
  plugin.free_jobinfo(job);
}

TEST(SwitchElan, Check25_EachThreadHasItsOwnErrors) {
  constexpr int kThreads = 16;
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  std::barrier together(kThreads);
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        if (plugin.error_number() != 0) ++wrong;  // nothing has failed in this thread
        together.arrive_and_wait();
        const bool damaged = i % 2 == 0;
        switch_jobinfo_t job = nullptr;
        TestBuffer buffer(std::array<std::byte, 4>{});
        if (plugin.alloc_jobinfo(&job) != 0) ++wrong;
        if (damaged && plugin.unpack_jobinfo(job, buffer.get()) != -1) ++wrong;
        if (!damaged && plugin.alloc_jobinfo(nullptr) != -1) ++wrong;
        const int seen = errno;
        together.arrive_and_wait();  // all have failed by now, each in its own way
        if (seen != (damaged ? 3002 : EINVAL)) ++wrong;
        if (plugin.error_number() != (damaged ? 3002 : 0)) ++wrong;
        plugin.free_jobinfo(job);
      });
    }
  }

  EXPECT_EQ(wrong, 0);
}

TEST_F(ElanStep, Check21_AChildOfABusyDaemonRunsItsStep) {
  switch_jobinfo_t job = plugin_.built("n0", 2);
  ASSERT_EQ(plugin_.node_init(), 0);
  std::atomic<bool> stop{false};
  std::vector<std::jthread> daemon;
  for (int i = 0; i < 8; ++i) {
    daemon.emplace_back([&] {  // what RPC threads of a node daemon do: registration, messages
      while (!stop) {
        switch_node_info_t info = nullptr;
        TestBuffer buffer;
        (void)plugin_.alloc_node_info(&info);
        (void)plugin_.build_node_info(info);
        (void)plugin_.pack_node_info(info, buffer.get());
        (void)plugin_.free_node_info(&info);
        switch_jobinfo_t other = plugin_.copy_jobinfo(job);
        TestBuffer message;
        (void)plugin_.pack_jobinfo(other, message.get());
        message.rewind();
        (void)plugin_.unpack_jobinfo(other, message.get());
        plugin_.free_jobinfo(other);
      }
    });
  }

  for (int round = 0; round < 20; ++round) {
    const pid_t manager = start([&] { return run_step(job); });
    const int outcome = exit_code(manager);
    EXPECT_EQ(outcome, 0) << "round " << round;
    if (outcome != 0) break;  // not ASSERT: the threads must be told to stop
  }

  stop = true;
  daemon.clear();
  EXPECT_TRUE(mock_->leaks().empty());
  EXPECT_EQ(plugin_.node_fini(), 0);
  plugin_.free_jobinfo(job);
}

TEST(Proctrack, CheckA27_ChildrenOfABusyDaemonFindAndList) {
  const TestHost host;
  const Proctrack plugin("proctrack_p_");
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  ASSERT_EQ(plugin.create(record.get()), 0);
  const auto id = record.container();
  ASSERT_EQ(plugin.add(record.get(), task.pid()), 0);
  std::atomic<bool> stop{false};
  std::vector<std::jthread> daemon;
  for (int i = 0; i < 4; ++i) {
    daemon.emplace_back([&] {
      StepRecord mine;
      while (!stop) {
        (void)plugin.find(task.pid());
        (void)plugin.signal(id, 0);
        if (plugin.create(mine.get()) == 0) (void)plugin.destroy(mine.container());
        mine.forget_container();
      }
    });
  }

  for (int round = 0; round < 50; ++round) {
    const pid_t child = start([&] {
      pid_t* pids = nullptr;
      int count = 0;
      if (plugin.find(task.pid()) != id || !plugin.has_pid(id, task.pid())) return 1;
      if (plugin.get_pids(id, &pids, &count) != 0 || count != 1) return 2;
      const bool exact = pids[0] == task.pid();
      free_host_block(pids);
      return exact ? 0 : 3;
    });
    const int outcome = exit_code(child);
    EXPECT_EQ(outcome, 0) << "round " << round;
    if (outcome != 0) break;
  }

  stop = true;
  daemon.clear();
  EXPECT_EQ(plugin.destroy(id), 0);
}

}  // namespace
}  // namespace hal::test
