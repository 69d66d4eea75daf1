// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <unistd.h>

#include "plugins/classic/core_spec_api.h"
#include "plugins/classic/job_container_api.h"
#include "plugins/classic/jobacct_api.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::test {
namespace {

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
