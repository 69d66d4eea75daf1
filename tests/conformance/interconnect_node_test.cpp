// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include "tests/conformance/interconnect_node_suite.h"

namespace hal::conformance {
namespace {

using ::testing::AnyOf;

class InterconnectNodeTest : public InterconnectNodeSuite {};

/// Runs `body` in a process of its own; its value is the exit code.
template <class Body>
int in_a_process(Body&& body) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(body());
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(InterconnectNodeTest, IC01_StartDisturbsNoRunningStep) {
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());

  EXPECT_EQ(in_a_process([&] {  // the daemon is restarted
              const auto daemon = make_node();
              return daemon && daemon->start() && daemon->stop() ? 0 : 1;
            }),
            0);

  HAL_ASSERT_OK(step.attach(place(0)));
  step.finish();
  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC02_StartStopStart) {
  EXPECT_EQ(in_a_process([&] {
              const auto daemon = make_node();
              for (int round = 0; round < 3; ++round) {
                if (!daemon->start()) return 10 + round;
                if (!daemon->stop()) return 20 + round;
              }
              return 0;
            }),
            0);
}

TEST_F(InterconnectNodeTest, IC02_StopWithoutStartIsHarmless) {
  EXPECT_EQ(in_a_process([&] { return make_node()->stop() ? 0 : 1; }), 0);
}

TEST_F(InterconnectNodeTest, IC03_ClearFreesWhatDeadStepsLeft) {
  StepProcess step(*node_, credential());
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));
  step.crash();
  step.release_tasks();

  const auto cleared = node_->clear();

  ASSERT_TRUE(cleared) << cleared.error().detail;
  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
}

TEST_F(InterconnectNodeTest, IC04_RecordAnyTimeFromAnyThread) {
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  std::atomic<int> failures{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 10; ++round) {
        const auto record = node_->record();
        if (!record || !controller_->accept_node_record(*record)) ++failures;
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(failures, 0);
  HAL_ASSERT_OK(step.attach(place(1)));
  step.finish();
  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC15_TheControllerTakesTheRecord) {
  const auto record = node_->record();
  ASSERT_TRUE(record) << record.error().detail;

  EXPECT_TRUE(controller_->accept_node_record(*record));
  EXPECT_TRUE(controller_->accept_node_record(*record)) << "a node reports again and again";
}

TEST_F(InterconnectNodeTest, IC15_ADamagedRecordIsCorrupt) {
  auto record = node_->record();
  ASSERT_TRUE(record) << record.error().detail;
  if (record->wire.empty()) {
    record->wire.assign(16, std::byte{0xA5});  // from a node with another switch
  } else {
    record->wire.pop_back();
  }

  const auto taken = controller_->accept_node_record(*record);

  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, Errc::corrupt) << taken.error().detail;
}

TEST_F(InterconnectNodeTest, IC05_PrepareComesBeforeTheSession) {
  const Credential mine = credential();
  const auto prepared = node_->prepare(mine);
  ASSERT_TRUE(prepared) << prepared.error().detail;
  {
    StepProcess step(*node_, mine);
    HAL_ASSERT_OK(step.open());
    HAL_ASSERT_OK(step.attach(place(0)));
    step.finish();
  }

  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC05_AFailedPrepareLeavesNothing) {
  const Credential mine = credential();
  HAL_REQUIRE_TRAIT(mine.built(), "its credentials are empty");
  std::vector<std::byte> wire(mine.wire().begin(), mine.wire().end());
  wire.resize(wire.size() - 1);

  static_cast<void>(node_->prepare(Credential(wire)));  // no destroy follows, whatever it says

  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
}

TEST_F(InterconnectNodeTest, IC06_OpeningALiveContextIsBusy) {
  HAL_REQUIRE_TRAIT(traits().has_device, "opening changes nothing");
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  StepProcess again(*node_, mine);

  const Outcome refused = again.open();

  EXPECT_FALSE(refused.ok);
  EXPECT_EQ(refused.kind, Errc::busy) << refused.detail;
  EXPECT_NE(refused.code, 0);
  again.finish();
  HAL_ASSERT_OK(step.attach(place(0)));
  step.finish();
  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC06_ADamagedCredentialOpensNothing) {
  const Credential mine = credential();
  HAL_REQUIRE_TRAIT(mine.built() && traits().has_device, "its credentials are empty");
  std::vector<std::byte> wire(mine.wire().begin(), mine.wire().end());
  wire[0] ^= std::byte{0xFF};
  StepProcess step(*node_, Credential(wire));

  const Outcome refused = step.open();

  EXPECT_FALSE(refused.ok);
  EXPECT_EQ(refused.kind, Errc::corrupt) << refused.detail;
  step.finish();
  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
}

TEST_F(InterconnectNodeTest, IC06_AnUnbuiltCredentialOpensNothing) {
  HAL_REQUIRE_TRAIT(traits().has_device, "opening changes nothing");
  StepProcess step(*node_, Credential());

  const Outcome refused = step.open();

  EXPECT_FALSE(refused.ok);
  EXPECT_THAT(refused.kind, AnyOf(Errc::corrupt, Errc::invalid_argument)) << refused.detail;
  step.finish();
}

TEST_F(InterconnectNodeTest, IC06_AbsentHardwareIsNoDevice) {
  HAL_REQUIRE_TRAIT(!under_.absent.empty(), "it needs no hardware");
  for (const auto& [what, config] : under_.absent) {
    const BackendContext context{config, host_};
    const auto node = under_.descriptor->make_interconnect_node(context);
    ASSERT_TRUE(node) << what << ": factories touch no hardware: " << node.error().detail;
    StepProcess step(**node, credential());

    const Outcome refused = step.open();

    EXPECT_FALSE(refused.ok) << what;
    EXPECT_EQ(refused.kind, Errc::no_device) << what << ": " << refused.detail;
    EXPECT_FALSE(refused.detail.empty());
  }
}

TEST_F(InterconnectNodeTest, IC07_EachTaskGetsAnEnvironmentOfItsOwn) {
  const Credential mine = credential(3);
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  std::set<EnvUpdates> seen;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    const Outcome task = step.attach(place(rank, 3));
    ASSERT_TRUE(task.ok) << task.detail;
    std::set<std::string> names;
    for (const auto& [name, value] : task.environment) {
      EXPECT_TRUE(names.insert(name).second) << name << " is set twice";
      EXPECT_FALSE(name.empty());
      EXPECT_EQ(name.find('='), std::string::npos);
    }
    if (!task.environment.empty()) {
      EXPECT_TRUE(seen.insert(task.environment).second) << "two tasks got the same environment";
    }
  }
  step.finish();
  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC07_WithoutAContextThereIsNoAttach) {
  HAL_REQUIRE_TRAIT(traits().has_device, "opening changes nothing");
  StepProcess step(*node_, credential());  // never opened

  const Outcome refused = step.attach(place(0));

  EXPECT_FALSE(refused.ok);
  EXPECT_EQ(refused.kind, Errc::not_found) << refused.detail;
  EXPECT_NE(refused.code, 0);
}

TEST_F(InterconnectNodeTest, IC07_ATaskThatIsNotOfTheStepIsRefused) {
  HAL_REQUIRE_TRAIT(traits().has_device, "opening changes nothing");
  const Credential mine = credential(2);
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());

  for (const std::uint32_t local_id : {2U, 3U, 0xFFFFFFFFU}) {
    TaskPlace stranger = place(1);
    stranger.local_id = local_id;
    const Outcome refused = step.attach(stranger);
    EXPECT_FALSE(refused.ok) << "local id " << local_id << " of 2 tasks";
    EXPECT_EQ(refused.kind, Errc::invalid_argument) << refused.detail;
  }
  step.finish();
  expect_destroyed(mine);
}

TEST_F(InterconnectNodeTest, IC07_EachNodeOfTheStepPlaysItsPart) {
  const Credential built = transport(build(*controller_, 4, 8));
  for (std::uint32_t index = 0; index < 4; ++index) {
    enter_node(index);
    const auto node = make_node();
    StepProcess step(*node, built);
    HAL_ASSERT_OK(step.open());
    for (std::uint32_t local = 0; local < 2; ++local) {
      HAL_ASSERT_OK(step.attach({.node_index = index,
                                 .local_id = local,
                                 .node_count = 4,
                                 .task_count = 8,
                                 .rank = index * 2 + local}));
    }
    step.finish();
    const auto destroyed = node->destroy_context(built, {JobId{1}, StepId{0}, 0});
    EXPECT_TRUE(destroyed) << destroyed.error().detail;
  }
}

TEST_F(InterconnectNodeTest, IC08_LeaveMayBeSkippedOrRepeated) {
  const Credential skipped = credential();
  const Credential repeated = credential();
  StepProcess first(*node_, skipped);
  StepProcess second(*node_, repeated);
  HAL_ASSERT_OK(first.open());
  HAL_ASSERT_OK(second.open());
  HAL_ASSERT_OK(second.attach(place(0)));
  second.release_tasks();

  HAL_ASSERT_OK(second.leave());
  HAL_ASSERT_OK(second.leave());

  first.finish();
  second.finish();
  expect_destroyed(skipped);
  expect_destroyed(repeated);
}

TEST_F(InterconnectNodeTest, SuspendAndResumeWorkOrAreUnsupported) {
  const Credential mine = credential();
  StepProcess step(*node_, mine);
  HAL_ASSERT_OK(step.open());
  HAL_ASSERT_OK(step.attach(place(0)));

  const auto suspended = node_->suspend(mine);
  const auto resumed = node_->resume(mine);

  if (traits().can_suspend) {
    EXPECT_TRUE(suspended) << suspended.error().detail;
    EXPECT_TRUE(resumed) << resumed.error().detail;
  } else if (!suspended) {
    EXPECT_EQ(suspended.error().kind, Errc::unsupported);
  }
  step.finish();
  expect_destroyed(mine);
}

}  // namespace
}  // namespace hal::conformance
