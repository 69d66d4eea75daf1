// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

using Bytes = std::vector<std::byte>;

/// True if two recorded grants share a node and a context.
bool any_overlap(const std::map<RangeAllocator::Key, RangeAllocator::Grant>& grants) {
  for (auto one = grants.begin(); one != grants.end(); ++one) {
    for (auto other = std::next(one); other != grants.end(); ++other) {
      const bool contexts = one->second.first < other->second.first + other->second.count &&
                            other->second.first < one->second.first + one->second.count;
      if (contexts && one->second.nodes.intersects(other->second.nodes)) return true;
    }
  }
  return false;
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
}

/// A controller that built two steps and saved; the credentials as the job state file keeps them.
std::vector<Bytes> run_first_controller(const ElanSite& site) {
  ElanController controller(site);
  EXPECT_EQ(controller.restore(), 0);
  std::vector<Bytes> kept;
  std::vector<switch_jobinfo_t> jobs;
  for (const char* nodes : {"n[0-3]", "n[2-5]"}) {
    jobs.push_back(controller.built(nodes, 8));
    kept.push_back(controller.packed(jobs.back()));
  }
  EXPECT_EQ(controller.save(), 0);
  for (switch_jobinfo_t job : jobs) controller.free_jobinfo(job);  // frozen: releases nothing
  return kept;
}

TEST(Restart, Check15_RecoveredGrantsAreNotGivenOutAgainAndOrphansAreFreed) {
  const ElanSite site;
  const auto kept = run_first_controller(site);
  ASSERT_EQ(site.recorded().size(), 2U);
  ElanController controller(site);
  switch_jobinfo_t survivor = controller.unpacked(kept[0]);  // before restore, as daemons of 0.4 do

  ASSERT_EQ(controller.restore(), 0);

  std::vector<switch_jobinfo_t> jobs;
  for (int i = 0; i < 100; ++i) jobs.push_back(controller.built("n[0-7]", 16));
  EXPECT_EQ(site.recorded().size(), 101U) << "one survivor, no orphan, a hundred new steps";
  EXPECT_FALSE(any_overlap(site.recorded()));
  for (switch_jobinfo_t job : jobs) controller.free_jobinfo(job);
  controller.free_jobinfo(survivor);
  EXPECT_EQ(site.recorded().size(), 0U) << "the survivor owns its grant";
}

TEST(Restart, Check15_CredentialsUnpackedAfterRestoreOwnNothing) {
  const ElanSite site;
  const auto kept = run_first_controller(site);
  ElanController controller(site);
  switch_jobinfo_t survivor = controller.unpacked(kept[0]);
  ASSERT_EQ(controller.restore(), 0);

  switch_jobinfo_t message = controller.unpacked(kept[0]);
  controller.free_jobinfo(message);

  switch_jobinfo_t job = controller.built("n[0-3]", 8);
  EXPECT_EQ(site.recorded().size(), 2U);
  controller.free_jobinfo(job);
  controller.free_jobinfo(survivor);
}

TEST(Restart, Check15_OneOfTwoEqualSurvivorsKeepsTheGrant) {
  const ElanSite site;
  const auto kept = run_first_controller(site);
  ElanController controller(site);
  switch_jobinfo_t message = controller.unpacked(kept[0]);
  switch_jobinfo_t survivor = controller.unpacked(kept[0]);
  switch_jobinfo_t gone = controller.unpacked(kept[1]);
  controller.free_jobinfo(gone);  // freed before restore: not a step any more
  ASSERT_EQ(controller.restore(), 0);

  controller.free_jobinfo(message);

  switch_jobinfo_t job = controller.built("n[0-3]", 8);
  EXPECT_EQ(site.recorded().size(), 2U);
  controller.free_jobinfo(survivor);
  controller.free_jobinfo(job);
  EXPECT_EQ(site.recorded().size(), 0U);
}

TEST(Restart, LateHostsNameTheSurvivorsAfterRestore) {
  const ElanSite site(10);
  const auto first_tasks = std::array{2, 2};
  std::string nodes = "n[0-1]";
  Bytes kept;
  {
    ElanController controller(site);
    ASSERT_EQ(controller.restore(), 0);
    switch_jobinfo_t job = controller.allocate();
    ASSERT_EQ(controller.build_jobinfo(job, nodes.data(),
                                       reinterpret_cast<intptr_t>(first_tasks.data()), 0, nullptr),
              0);
    kept = controller.packed(job);
    ASSERT_EQ(controller.save(), 0);
    controller.free_jobinfo(job);
  }
  ElanController controller(site);
  ASSERT_EQ(controller.restore(1), 0);
  switch_jobinfo_t survivor = controller.unpacked(kept);
  ASSERT_EQ(controller.job_step_allocated(survivor, nullptr), 0);
  switch_jobinfo_t next = controller.allocate();

  ASSERT_EQ(controller.build_jobinfo(next, nodes.data(),
                                     reinterpret_cast<intptr_t>(first_tasks.data()), 0, nullptr),
            0);

  EXPECT_EQ(site.recorded().size(), 2U);
  EXPECT_FALSE(any_overlap(site.recorded()));
  controller.free_jobinfo(survivor);
  EXPECT_EQ(site.recorded().size(), 1U);
  controller.free_jobinfo(next);
}

TEST(Restart, LateHostsThatRecoverNothingStartEmpty) {
  const ElanSite site(10);
  std::string nodes = "n[0-1]";
  const auto tasks = std::array{2, 2};
  const auto built = [&](const ElanController& controller) {
    switch_jobinfo_t job = controller.allocate();
    EXPECT_EQ(controller.build_jobinfo(job, nodes.data(), reinterpret_cast<intptr_t>(tasks.data()),
                                       0, nullptr),
              0);
    return job;
  };
  {
    ElanController controller(site);
    ASSERT_EQ(controller.restore(0), 0);
    switch_jobinfo_t job = built(controller);
    ASSERT_EQ(controller.save(), 0);
    controller.free_jobinfo(job);
  }
  ElanController controller(site);

  ASSERT_EQ(controller.restore(0), 0);

  switch_jobinfo_t job = built(controller);
  EXPECT_EQ(site.recorded().size(), 1U);
  controller.free_jobinfo(job);
}

TEST(Restart, Check16_NullAndMissingStateAreEmptyState) {
  const ElanSite site;
  ElanController controller(site);

  EXPECT_EQ(controller.libstate_restore(nullptr, 0), 0);
  EXPECT_EQ(controller.restore(), 0);

  controller.free_jobinfo(controller.built("n[0-3]", 8));
  EXPECT_EQ(site.recorded().size(), 0U);
}

class DamagedState : public testing::Test {
 protected:
  /// Restores from these bytes with one survivor; the survivor must keep its grant.
  void expect_rebuilt(std::span<const std::byte> bytes, const Bytes& survivor_bytes) {
    write_file(site_.state_file(), bytes);
    ElanController controller(site_);
    switch_jobinfo_t survivor = controller.unpacked(survivor_bytes);

    ASSERT_EQ(controller.restore(), 0) << bytes.size() << " bytes";

    switch_jobinfo_t job = controller.built("n[0-3]", 8);
    ASSERT_EQ(site_.recorded().size(), 2U) << bytes.size() << " bytes";
    ASSERT_FALSE(any_overlap(site_.recorded()));
    controller.free_jobinfo(job);
    controller.free_jobinfo(survivor);
  }

  const ElanSite site_;
};

TEST_F(DamagedState, Check16_TruncatedAtEveryByteIsRebuiltFromTheSteps) {
  const auto kept = run_first_controller(site_);
  const auto whole = site_.state_bytes();
  ASSERT_GT(whole.size(), 0U);

  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_rebuilt(std::span(whole).first(size), kept[0]);
    if (HasFatalFailure()) return;
  }
}

TEST_F(DamagedState, Check16_EveryDamagedByteAndForeignFilesAreRebuiltFromTheSteps) {
  const auto kept = run_first_controller(site_);
  const auto whole = site_.state_bytes();

  for (std::size_t i = 0; i < whole.size(); ++i) {
    auto damaged = whole;
    damaged[i] ^= std::byte{0x80};
    expect_rebuilt(damaged, kept[0]);
    if (HasFatalFailure()) return;
  }
  const std::string_view foreign = "some other plugin's state";
  expect_rebuilt(std::as_bytes(std::span(foreign)), kept[0]);
}

TEST(StrictState, Check16_DamageIsAnErrorWhereTheSiteWantsIt) {
  const ElanSite site(4, "strict_state = yes\n");
  (void)run_first_controller(site);
  auto damaged = site.state_bytes();
  damaged.back() ^= std::byte{1};
  write_file(site.state_file(), damaged);
  ElanController controller(site);

  EXPECT_EQ(controller.restore(), -1);

  EXPECT_EQ(errno, 3001);
  EXPECT_EQ(controller.error_number(), 3001);
}

TEST(Restart, Check17_AKilledControllerLosesNothing) {
  const ElanSite site;
  const std::string job_state = site.host.directory() / "job_state";
  const pid_t first = ::fork();
  if (first == 0) {
    ElanController controller(site);
    (void)controller.restore();
    write_file(job_state, controller.packed(controller.built("n[0-3]", 8)));
    ::raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(first, &status, 0), first);
  ASSERT_TRUE(WIFSIGNALED(status));
  std::ifstream file(job_state, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(site.recorded().size(), 1U) << "written on change, not only at save";

  ElanController controller(site);
  switch_jobinfo_t survivor = controller.unpacked(std::as_bytes(std::span(text)));
  ASSERT_EQ(controller.restore(), 0);
  switch_jobinfo_t job = controller.built("n[0-3]", 8);

  EXPECT_EQ(site.recorded().size(), 2U);
  EXPECT_FALSE(any_overlap(site.recorded()));
  controller.free_jobinfo(survivor);
  controller.free_jobinfo(job);
}

TEST(Restart, Check18_HandOverToABackupAndBack) {
  const ElanSite site;
  ElanController primary(site);
  ASSERT_EQ(primary.restore(), 0);
  switch_jobinfo_t job = primary.built("n[0-3]", 8);
  const auto kept = primary.packed(job);
  ASSERT_EQ(primary.save(), 0);
  const pid_t backup_process = ::fork();
  if (backup_process == 0) {
    int result = 0;
    {
      ElanController backup(site);
      (void)backup.fini();  // a process of its own: nothing of the primary's memory
      switch_jobinfo_t step = backup.unpacked(kept);
      if (backup.restore() != 0) result = 1;
      switch_jobinfo_t second = backup.built("n[0-3]", 8);
      if (site.recorded().size() != 2) result = 2;
      (void)backup.job_step_complete(second, nullptr);
      if (backup.save() != 0) result = 3;
      backup.free_jobinfo(second);
      backup.free_jobinfo(step);
    }
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(backup_process, &status, 0), backup_process);
  ASSERT_EQ(WEXITSTATUS(status), 0);
  primary.free_jobinfo(job);  // the returning primary reads its jobs anew
  switch_jobinfo_t again = primary.unpacked(kept);

  ASSERT_EQ(primary.restore(), 0);

  EXPECT_EQ(site.recorded().size(), 1U);
  primary.free_jobinfo(again);
}

}  // namespace
}  // namespace hal::test
