// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

class Grants : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(controller_.restore(), 0); }

  [[nodiscard]] std::size_t live() const { return site_.recorded().size(); }

  ElanSite site_;
  ElanController controller_{site_};
};

TEST_F(Grants, Check11_AFailedBuildFollowedByCompleteAndFreeLeavesNothing) {
  for (const char* nodes : {"n[0-1", "", "unknown[1-2]", "n[1,0]"}) {
    std::string text(nodes);
    switch_jobinfo_t job = controller_.allocate();

    EXPECT_EQ(controller_.build_jobinfo(job, text.data(), 4, 0, nullptr), -1) << nodes;

    EXPECT_GT(errno, 0);
    EXPECT_EQ(controller_.job_step_complete(job, text.data()), 0);
    controller_.free_jobinfo(job);
  }
  EXPECT_EQ(live(), 0U);
}

TEST_F(Grants, Check12_FreeOfTheOwnerReleases) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  ASSERT_EQ(live(), 1U);

  controller_.free_jobinfo(job);

  EXPECT_EQ(live(), 0U);
}

TEST_F(Grants, Check12_CopiesNeverReleaseFreedFirstOrLast) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  switch_jobinfo_t first = controller_.copy_jobinfo(job);
  switch_jobinfo_t last = controller_.copy_jobinfo(job);
  switch_jobinfo_t message = controller_.unpacked(controller_.packed(job));

  controller_.free_jobinfo(first);
  controller_.free_jobinfo(message);
  EXPECT_EQ(live(), 1U);
  controller_.free_jobinfo(job);
  EXPECT_EQ(live(), 0U);

  switch_jobinfo_t next = controller_.built("n[0-3]", 8);
  controller_.free_jobinfo(last);
  EXPECT_EQ(live(), 1U) << "a stale copy released the grant of another step";
  controller_.free_jobinfo(next);
}

TEST_F(Grants, Check13_CompleteTwiceThenFreeIsOneRelease) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  char nodes[] = "n[0-3]";

  EXPECT_EQ(controller_.job_step_complete(job, nodes), 0);
  EXPECT_EQ(live(), 0U);
  switch_jobinfo_t other = controller_.built("n[0-3]", 8);
  EXPECT_EQ(controller_.job_step_complete(job, nullptr), 0);
  controller_.free_jobinfo(job);

  EXPECT_EQ(live(), 1U) << "the other step's grant must stay";
  controller_.free_jobinfo(other);
}

TEST_F(Grants, Check13_CompleteOnACopyReleasesTheOwnersGrant) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  switch_jobinfo_t copy = controller_.copy_jobinfo(job);

  EXPECT_EQ(controller_.job_step_complete(copy, nullptr), 0);

  EXPECT_EQ(live(), 0U);
  controller_.free_jobinfo(job);
  controller_.free_jobinfo(copy);
}

TEST_F(Grants, Check14_TenThousandStepsWithoutCompletionLeaveNoGrant) {
  ElanController memory_only(site_);  // no state directory: arithmetic alone
  ASSERT_EQ(memory_only.libstate_restore(nullptr, 0), 0);
  for (int i = 0; i < 10'000; ++i) {
    switch_jobinfo_t job = memory_only.built("n[0-63]", 64);
    memory_only.free_jobinfo(job);
  }

  EXPECT_EQ(memory_only.save(), 0);
  EXPECT_EQ(live(), 0U);
}

TEST_F(Grants, AGrantIsReleasedOnlyByTheProcessThatMadeIt) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  const pid_t child = ::fork();
  if (child == 0) {
    (void)controller_.job_step_complete(job, nullptr);
    controller_.free_jobinfo(job);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(live(), 1U);
  controller_.free_jobinfo(job);
  EXPECT_EQ(live(), 0U);
}

TEST_F(Grants, AnOwnerIsNeitherBuiltAgainNorOverwritten) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  char nodes[] = "n[0-3]";
  TestBuffer buffer(controller_.packed(job));

  EXPECT_EQ(controller_.build_jobinfo(job, nodes, 8, 0, nullptr), -1);
  EXPECT_EQ(errno, EBUSY);
  EXPECT_EQ(controller_.unpack_jobinfo(job, buffer.get()), -1);
  EXPECT_EQ(errno, EBUSY);

  EXPECT_EQ(live(), 1U);
  controller_.free_jobinfo(job);
}

TEST_F(Grants, AfterSaveFreesReleaseNothing) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);
  ASSERT_EQ(controller_.save(), 0);

  EXPECT_EQ(controller_.job_step_complete(job, nullptr), 0);
  controller_.free_jobinfo(job);

  EXPECT_EQ(live(), 1U);
}

TEST_F(Grants, ClearForgetsEveryGrant) {
  switch_jobinfo_t job = controller_.built("n[0-3]", 8);

  EXPECT_EQ(controller_.libstate_clear(), 0);

  EXPECT_EQ(live(), 0U);
  switch_jobinfo_t other = controller_.built("n[0-3]", 8);
  controller_.free_jobinfo(job);
  EXPECT_EQ(live(), 1U);
  controller_.free_jobinfo(other);
}

}  // namespace
}  // namespace hal::test
