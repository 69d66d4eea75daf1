// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>

#include "tests/conformance/interconnect_node_suite.h"

namespace hal::conformance {
namespace {

class InterconnectDestroyTest : public InterconnectNodeSuite {};

TEST_F(InterconnectDestroyTest, IC09_ASecondDestroyIsHarmless) {
  const Credential mine = credential();
  const Credential others = credential();
  StepProcess step(*node_, mine);
  StepProcess other(*node_, others);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(other.open());
  step.finish();
  expect_destroyed(mine);

  expect_destroyed(mine);

  HAL_ASSERT_OK(other.attach(place(0)));
  other.finish();
  expect_destroyed(others);
}

TEST_F(InterconnectDestroyTest, IC09_WhatWasNeverOpenedIsGone) {
  expect_destroyed(credential());
  expect_destroyed(Credential());
}

TEST_F(InterconnectDestroyTest, IC09_AfterAFailedOpen) {
  HAL_REQUIRE_TRAIT(traits().has_device, "opening changes nothing");
  const Credential mine = credential();
  {
    const BackendContext context{under_.absent.empty() ? under_.config : under_.absent[0].second,
                                 host_};
    const auto node = under_.descriptor->make_interconnect_node(context);
    ASSERT_TRUE(node);
    StepProcess step(**node, mine);
    static_cast<void>(step.open());
    step.finish();
  }

  expect_destroyed(mine);
}

TEST_F(InterconnectDestroyTest, IC09_StragglersAreEnded) {
  HAL_REQUIRE_TRAIT(traits().has_device, "it knows no members");
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));
  HAL_ASSERT_OK(step.attach(place(1)));
  step.finish_session();  // the tasks run on as orphans

  expect_destroyed(mine);

  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
}

TEST_F(InterconnectDestroyTest, IC09_AfterTheCrashOfTheSession) {
  const Credential mine = credential();
  const Credential next = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));
  step.crash();
  step.release_tasks();

  expect_destroyed(mine);

  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
  StepProcess after(*node_, next);
  HAL_ASSERT_OK(after.open());
  after.finish();
  expect_destroyed(next);
}

TEST_F(InterconnectDestroyTest, IC09_ByAManagerThatIsNew) {
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));
  step.finish();
  node_ = make_node();  // nothing of the old one is needed

  expect_destroyed(mine);
}

TEST_F(InterconnectDestroyTest, IC09_GivesUpInTheEnd) {
  HAL_REQUIRE_TRAIT(under_.immortal, "no process can be made to survive SIGKILL here");
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));
  under_.immortal(true);
  step.finish_session();

  const auto refused = destroy(mine);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::timed_out) << refused.error().detail;
  EXPECT_NE(refused.error().code, 0);
  under_.immortal(false);
  expect_destroyed(mine);
}

}  // namespace
}  // namespace hal::conformance
