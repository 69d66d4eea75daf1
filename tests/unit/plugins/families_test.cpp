// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/classic/core_spec_api.h"
#include "plugins/classic/job_container_api.h"
#include "plugins/classic/jobacct_api.h"
#include "plugins/classic/proctrack_api.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::test {
namespace {

/// A step record as 2.6 lays it out (464 bytes): the years of the proctrack document.
class StepRecord {
 public:
  explicit StepRecord(std::size_t header = 8, std::size_t size = 464)
      : header_(header), block_(host_block(size, header)) {
    put(336, std::int32_t{::getpid()});
  }
  ~StepRecord() { free_host_block(block_, header_); }
  StepRecord(const StepRecord&) = delete;
  StepRecord& operator=(const StepRecord&) = delete;

  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(static_cast<std::byte*>(block_) + offset, &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t container() const {
    std::uint64_t id;
    std::memcpy(&id, static_cast<const std::byte*>(block_) + 360, sizeof id);
    return id;
  }
  void set_group(pid_t group) { put(340, std::int32_t{group}); }
  [[nodiscard]] slurmd_job_t* get() { return static_cast<slurmd_job_t*>(block_); }

 private:
  std::size_t header_;
  void* block_;
};

/// A held task in a group of its own.
class Task {
 public:
  Task() : pid_(::fork()) {
    if (pid_ == 0) {
      ::setpgid(0, 0);
      while (true) ::pause();
    }
    ::setpgid(pid_, pid_);
  }
  ~Task() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    (void)wait_status();
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int wait_status() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return status;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

struct Proctrack : LoadedPlugin {
  explicit Proctrack(std::string prefix)
      : LoadedPlugin("proctrack_pgid.so"), names(std::move(prefix)) {}
  template <class F>
  [[nodiscard]] F call(const char* name) const {
    return get<F>((names + name).c_str());
  }
  std::string names;
  decltype(&proctrack_p_create) create = call<decltype(create)>("create");
  decltype(&proctrack_p_add) add = call<decltype(add)>("add");
  decltype(&proctrack_p_signal) signal = call<decltype(signal)>("signal");
  decltype(&proctrack_p_destroy) destroy = call<decltype(destroy)>("destroy");
  decltype(&proctrack_p_find) find = call<decltype(find)>("find");
  decltype(&proctrack_p_has_pid) has_pid = call<decltype(has_pid)>("has_pid");
  decltype(&proctrack_p_wait) wait = call<decltype(wait)>("wait");
  decltype(&proctrack_p_get_pids) get_pids = call<decltype(get_pids)>("get_pids");
};

class BothNames : public testing::TestWithParam<const char*> {
 protected:
  TestHost host_;
  Proctrack plugin_{GetParam()};
};

TEST_P(BothNames, TracksATaskFromCreateToWait) {
  StepRecord record;
  Task task;
  record.set_group(task.pid());
  pid_t* pids = nullptr;
  int count = -1;

  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();
  ASSERT_GT(id, 1U);
  EXPECT_EQ(plugin_.get_pids(id, &pids, &count), 0);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(pids, nullptr) << "point 5: no member, no block";
  ASSERT_EQ(plugin_.add(record.get(), task.pid()), 0);
  EXPECT_EQ(plugin_.find(task.pid()), id);
  EXPECT_TRUE(plugin_.has_pid(id, task.pid()));
  EXPECT_FALSE(plugin_.has_pid(id, ::getpid()));
  EXPECT_EQ(plugin_.signal(id, 0), 0);
  ASSERT_EQ(plugin_.get_pids(id, &pids, &count), 0);
  ASSERT_EQ(count, 1);
  EXPECT_EQ(pids[0], task.pid());
  EXPECT_EQ(host_block_size(pids), sizeof(pid_t)) << "point 5: a block that the host can free";
  free_host_block(pids);
  EXPECT_EQ(plugin_.signal(id, SIGKILL), 0);
  EXPECT_EQ(WTERMSIG(task.wait_status()), SIGKILL);
  EXPECT_EQ(plugin_.wait(id), 0);
  EXPECT_EQ(plugin_.signal(id, 0), -1);
  EXPECT_EQ(errno, ESRCH);
}

TEST_P(BothNames, Point10_WaitDestroysAndDestroyIsIdempotent) {
  StepRecord record;
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();

  EXPECT_EQ(plugin_.wait(id), 0);
  EXPECT_EQ(plugin_.destroy(id), 0);
  EXPECT_EQ(plugin_.destroy(id), 0);
  EXPECT_EQ(plugin_.wait(id), 0) << "wait after destroy";
  EXPECT_EQ(plugin_.destroy(0), 0);
  for (const std::uint64_t none : {std::uint64_t{0}, std::uint64_t{1}}) {
    EXPECT_EQ(plugin_.wait(none), -1);
    EXPECT_EQ(errno, EINVAL);
  }
}

TEST_P(BothNames, SecondCreateKeepsTheId) {
  StepRecord record;
  ASSERT_EQ(plugin_.create(record.get()), 0);
  const auto id = record.container();

  EXPECT_EQ(plugin_.create(record.get()), 0);

  EXPECT_EQ(record.container(), id);
  EXPECT_EQ(plugin_.destroy(id), 0);
}

TEST_P(BothNames, RefusesWhatIsNoContainerAndNoRecord) {
  StepRecord empty;
  StepRecord unknown(8, 470);
  pid_t* pids = reinterpret_cast<pid_t*>(&empty);
  int count = 5;

  EXPECT_EQ(plugin_.create(nullptr), -1);
  EXPECT_EQ(plugin_.create(unknown.get()), -1);
  EXPECT_EQ(errno, ENOTSUP);
  EXPECT_EQ(plugin_.add(empty.get(), ::getpid()), -1) << "create comes first";
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(plugin_.find(-1), 0U);
  EXPECT_EQ(plugin_.find(1), 0U);
  EXPECT_FALSE(plugin_.has_pid(0, ::getpid()));
  EXPECT_EQ(plugin_.get_pids(424242, &pids, &count), -1);
  EXPECT_EQ(pids, nullptr);
  EXPECT_EQ(count, 0);
  EXPECT_EQ(plugin_.get_pids(424242, nullptr, &count), -1);
  EXPECT_EQ(plugin_.signal(0, SIGKILL), -1);
  EXPECT_EQ(plugin_.signal(1, SIGKILL), -1);
}

INSTANTIATE_TEST_SUITE_P(Proctrack, BothNames,
                         testing::Values("slurm_container_plugin_", "proctrack_p_"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Proctrack, Point5_ListsHaveTheHeaderOfTheHostThatMadeTheRecord) {
  const TestHost host;
  const Proctrack plugin("proctrack_p_");
  StepRecord record(16, 496);  // 14.11
  record.put(344, std::int32_t{::getpid()});
  Task task;
  record.put(348, std::int32_t{task.pid()});
  pid_t* pids = nullptr;
  int count = 0;
  ASSERT_EQ(plugin.create(record.get()), 0);
  ASSERT_EQ(plugin.add(record.get(), task.pid()), 0);
  std::uint64_t id;
  std::memcpy(&id, reinterpret_cast<std::byte*>(record.get()) + 368, sizeof id);

  ASSERT_EQ(plugin.get_pids(id, &pids, &count), 0);

  EXPECT_EQ(host_block_size(pids, 16), sizeof(pid_t));
  free_host_block(pids, 16);
  EXPECT_EQ(plugin.signal(id, SIGKILL), 0);
  (void)task.wait_status();
  EXPECT_EQ(plugin.wait(id), 0);
}

TEST(Proctrack, RefusesATimeoutThatIsNoNumber) {
  TestHost host;
  host.set_config("[proctrack/pgid]\nunkillable_step_timeout = soon\n");
  const Proctrack plugin("proctrack_p_");

  EXPECT_EQ(plugin.init(), -1);
}

TEST(CoreSpecNone, Point9_TakesEveryIdAndCount) {
  const TestHost host;
  const LoadedPlugin plugin("core_spec_none.so");
  const auto set = plugin.get<decltype(&core_spec_p_set)>("core_spec_p_set");
  const auto clear = plugin.get<decltype(&core_spec_p_clear)>("core_spec_p_clear");
  const auto suspend = plugin.get<decltype(&core_spec_p_suspend)>("core_spec_p_suspend");
  const auto resume = plugin.get<decltype(&core_spec_p_resume)>("core_spec_p_resume");

  for (const int raw : {0, 1, 0x7fff, 0x8000, 0x8001, 0xfffe, 0xffff}) {
    const auto count = static_cast<std::uint16_t>(raw);
    for (const std::uint64_t id : {std::uint64_t{0}, std::uint64_t{77}, ~std::uint64_t{0}}) {
      EXPECT_EQ(set(id, count), 0);
      EXPECT_EQ(suspend(id, count), 0);
      EXPECT_EQ(resume(id, count), 0);
      EXPECT_EQ(clear(id), 0);
    }
  }
}

TEST(JobContainerNone, TakesEveryJobAndOffersNoDescriptor) {
  const TestHost host;
  const LoadedPlugin plugin("job_container_none.so");
  const auto call = [&](const char* name, std::uint32_t job, auto... more) {
    return plugin.get<int (*)(std::uint32_t, decltype(more)...)>(name)(job, more...);
  };

  for (const std::uint32_t job : {0U, 1U, 0xfffffffeU, 0xffffffffU}) {
    EXPECT_EQ(call("container_p_create", job), 0);
    EXPECT_EQ(call("container_p_create", job), 0);
    EXPECT_EQ(call("container_p_stepd_create", job, uid_t{0}), 0);
    EXPECT_EQ(call("container_p_add_cont", job, std::uint64_t{5}), 0);
    EXPECT_EQ(call("container_p_add_pid", job, ::getpid(), uid_t{0}), 0);
    EXPECT_EQ(call("container_p_join", job, uid_t{0}), 0);
    EXPECT_EQ(call("container_p_stepd_delete", job), 0);
    EXPECT_EQ(call("container_p_delete", job), 0);
    EXPECT_EQ(call("container_p_delete", job), 0);
    EXPECT_EQ(call("container_p_join_external", job), -1);
    EXPECT_EQ(errno, ENOSYS);
  }
  const auto restore = plugin.get<decltype(&container_p_restore)>("container_p_restore");
  EXPECT_EQ(restore(nullptr, true), 0);
  plugin.get<decltype(&container_p_reconfig)>("container_p_reconfig")();
}

TEST(JobacctNone, Point9_TakesQueuedJobsAndBatchSteps) {
  const TestHost host;
  const LoadedPlugin plugin("jobacct_none.so");
  const auto init = plugin.get<decltype(&slurmctld_jobacct_init)>("slurmctld_jobacct_init");
  const auto start =
      plugin.get<decltype(&slurmctld_jobacct_job_start)>("slurmctld_jobacct_job_start");
  const auto launched =
      plugin.get<decltype(&slurmd_jobacct_jobstep_launched)>("slurmd_jobacct_jobstep_launched");
  const auto ended = plugin.get<decltype(&slurmd_jobacct_task_exit)>("slurmd_jobacct_task_exit");
  void* job = host_block(528);
  void* step = host_block(168);

  EXPECT_EQ(init(nullptr, nullptr), 0);
  EXPECT_EQ(start(static_cast<job_record*>(job)), 0);
  EXPECT_EQ(launched(static_cast<slurmd_job_t*>(step)), 0);
  EXPECT_EQ(ended(static_cast<slurmd_job_t*>(step), 1, 0, nullptr), 0);
  EXPECT_EQ(start(nullptr), -1);
  EXPECT_EQ(launched(nullptr), -1);
  free_host_block(step);
  free_host_block(job);
}

}  // namespace
}  // namespace hal::test
