// SPDX-License-Identifier: BSD-3-Clause
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <random>
#include <set>
#include <thread>

#include "tests/conformance/interconnect_suite.h"

namespace hal::conformance {
namespace {

class InterconnectControllerTest : public InterconnectSuite {
 protected:
  void SetUp() override {
    InterconnectSuite::SetUp();
    controller_ = make_controller();
    HAL_REQUIRE_TRAIT(controller_, "no controller role");
    ASSERT_TRUE(controller_->load(std::nullopt, {}));
  }

  [[nodiscard]] std::uint32_t limit() const { return traits().tasks_per_node; }

  /// Cuts every file of `path` to half its size.
  static void damage(const std::string& path) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
      if (!entry.is_regular_file()) continue;
      std::filesystem::resize_file(entry.path(), entry.file_size() / 2);
    }
  }

  std::unique_ptr<InterconnectController> controller_;
};

TEST_F(InterconnectControllerTest, IC10_MissingStateIsEmptyState) {
  const std::string state = directory("state");

  ASSERT_TRUE(controller_->load(state, {}));

  EXPECT_TRUE(controller_->build_credential(layout(1, 1)));
}

TEST_F(InterconnectControllerTest, IC10_GrantsWithoutAStepAreFreed) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  const std::string state = directory("state");
  ASSERT_TRUE(controller_->load(state, {}));
  const Credential kept = transport(build(*controller_, 1, 3));
  static_cast<void>(build(*controller_, 1, 5));
  const auto after = make_controller();
  const Credential* const running[] = {&kept};

  ASSERT_TRUE(after->load(state, running));

  EXPECT_EQ(fill(*after), limit() - 3);
}

TEST_F(InterconnectControllerTest, IC10_StepsWithoutAGrantAreAdded) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  const Credential one = transport(build(*controller_, 1, 2));
  const Credential two = transport(build(*controller_, 1, 4));
  const Credential unbuilt;
  const auto after = make_controller();
  const Credential* const running[] = {&one, &unbuilt, &two};

  ASSERT_TRUE(after->load(std::nullopt, running));

  EXPECT_EQ(fill(*after), limit() - 6);
  ASSERT_TRUE(after->release(two));
  EXPECT_EQ(fill(*after), 4U);
}

TEST_F(InterconnectControllerTest, IC10_LoadAgainReplacesTheState) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  static_cast<void>(build(*controller_, 1, 7));

  ASSERT_TRUE(controller_->load(std::nullopt, {}));

  EXPECT_EQ(fill(*controller_), limit());
}

TEST_F(InterconnectControllerTest, IC10_ADamagedFileIsCorruptOrReplaced) {
  HAL_REQUIRE_TRAIT(traits().persistent, "it keeps nothing on disk");
  const std::string state = directory("state");
  ASSERT_TRUE(controller_->load(state, {}));
  const Credential running_step = transport(build(*controller_, 1, 2));
  damage(state);
  const auto after = make_controller();
  const Credential* const running[] = {&running_step};

  const auto loaded = after->load(state, running);

  if (!loaded) {
    EXPECT_EQ(loaded.error().kind, Errc::corrupt) << loaded.error().detail;
    EXPECT_NE(loaded.error().code, 0);
  } else if (limit() != 0) {
    EXPECT_EQ(fill(*after), limit() - 2) << "the running step lost its grant";
  }
}

TEST_F(InterconnectControllerTest, IC10_EachChangeIsOnDiskBeforeACrash) {
  HAL_REQUIRE_TRAIT(traits().persistent && limit() != 0, "it keeps no grants on disk");
  const std::string state = directory("state");
  ASSERT_TRUE(controller_->load(state, {}));
  const Credential before = transport(build(*controller_, 1, 2));
  const auto after = make_controller();  // the first one never saved
  const Credential* const running[] = {&before};

  ASSERT_TRUE(after->load(state, running));

  const Credential next = build(*after, 1, 2);
  EXPECT_NE(next, before);
  if (traits().overlap) {
    EXPECT_FALSE(traits().overlap(next, before));
  }
}

TEST_F(InterconnectControllerTest, IC11_SavedStateGoesOnElsewhere) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  const std::string backup = directory("backup");
  const Credential step = transport(build(*controller_, 1, 2));

  ASSERT_TRUE(controller_->save(backup));

  EXPECT_TRUE(controller_->build_credential(layout(1, 1))) << "memory stays usable";
  const auto other = make_controller();
  const Credential* const running[] = {&step};
  ASSERT_TRUE(other->load(backup, running));
  EXPECT_EQ(fill(*other), limit() - 2);
}

TEST_F(InterconnectControllerTest, IC11_AFailedSaveChangesNothing) {
  HAL_REQUIRE_TRAIT(traits().persistent, "it keeps nothing on disk");
  const Credential step = build(*controller_, 1, 2);

  const auto saved = controller_->save(root_ + "/no/such/directory");

  ASSERT_FALSE(saved);
  EXPECT_NE(saved.error().code, 0);
  EXPECT_FALSE(saved.error().detail.empty());
  EXPECT_TRUE(controller_->release(step));
  EXPECT_TRUE(controller_->build_credential(layout(1, 1)));
}

TEST_F(InterconnectControllerTest, IC12_ABuiltCredentialCanTravel) {
  for (const std::size_t node_count : {std::size_t{1}, std::size_t{2}, std::size_t{8}}) {
    for (const std::uint32_t tasks : {1U, 3U, 16U}) {
      const Credential built = build(*controller_, node_count, tasks);
      EXPECT_EQ(built.built(), traits().exclusive_grants);
      EXPECT_EQ(transport(built), built);
    }
  }
}

TEST_F(InterconnectControllerTest, IC12_AFailedBuildGrantsNothing) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");

  const auto refused = controller_->build_credential(layout(1, limit() + 1));

  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().kind, ::testing::AnyOf(Errc::invalid_argument, Errc::exhausted));
  EXPECT_NE(refused.error().code, 0);
  EXPECT_EQ(fill(*controller_), limit());
}

TEST_F(InterconnectControllerTest, IC12_AnUnknownNodeIsNotFound) {
  HAL_REQUIRE_TRAIT(traits().knows_nodes, "it takes any node name");
  const std::vector<std::string> names = {nodes().at(0), "no-such-node-zz9"};
  const auto stranger =
      StepLayout::from_counts(NodeList::from_names(names), 2, TaskDistribution::block);

  const auto refused = controller_->build_credential(*stranger);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::not_found);
  EXPECT_THAT(refused.error().detail, ::testing::HasSubstr("no-such-node-zz9"));
  if (limit() != 0) {
    EXPECT_EQ(fill(*controller_), limit());
  }
}

TEST_F(InterconnectControllerTest, IC13_ReleaseIsIdempotent) {
  const Credential mine = build(*controller_, 1, 2);
  const Credential others = build(*controller_, 1, 3);

  EXPECT_TRUE(controller_->release(mine));
  EXPECT_TRUE(controller_->release(mine));
  EXPECT_TRUE(controller_->release(transport(mine)));
  EXPECT_TRUE(controller_->release(Credential()));

  if (limit() != 0) {
    EXPECT_EQ(fill(*controller_), limit() - 3);
  }
}

TEST_F(InterconnectControllerTest, IC13_AForeignCredentialFreesNothing) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  const auto elsewhere = make_controller();
  ASSERT_TRUE(elsewhere->load(std::nullopt, {}));
  const Credential foreign = build(*elsewhere, 1, 2);
  const Credential mine = build(*controller_, 1, 2);

  EXPECT_TRUE(controller_->release(foreign));

  EXPECT_EQ(fill(*controller_), limit() - 2) << "the grant of " << codec_->describe(mine);
}

TEST_F(InterconnectControllerTest, IC14_ClearForgetsEveryGrant) {
  static_cast<void>(build(*controller_, 1, 5));
  static_cast<void>(build(*controller_, 2, 5));

  ASSERT_TRUE(controller_->clear());

  EXPECT_TRUE(controller_->build_credential(layout(1, 1)));
  ASSERT_TRUE(controller_->clear());
  if (limit() != 0) {
    EXPECT_EQ(fill(*controller_), limit());
  }
}

TEST_F(InterconnectControllerTest, IC16_DelayOfSchedulingIsAConstant) {
  const bool answer = controller_->delays_scheduling();
  static_cast<void>(build(*controller_));

  EXPECT_EQ(controller_->delays_scheduling(), answer);
  EXPECT_EQ(make_controller()->delays_scheduling(), answer);
}

TEST_F(InterconnectControllerTest, IC17_LiveStepsShareNothing) {
  HAL_REQUIRE_TRAIT(traits().exclusive_grants, "its credentials claim nothing");
  std::mt19937 random(7);
  std::vector<Credential> live;
  for (int round = 0; round < 150; ++round) {
    const std::size_t first = random() % nodes().size();
    const std::size_t count = 1 + random() % (nodes().size() - first);
    const std::uint32_t tasks = 1 + static_cast<std::uint32_t>(random() % 40);
    auto built = controller_->build_credential(layout(count, tasks, first));
    if (!built) {
      ASSERT_EQ(built.error().kind, Errc::exhausted) << built.error().detail;
    } else {
      for (const Credential& other : live) {
        ASSERT_NE(*built, other);
        if (traits().overlap) {
          ASSERT_FALSE(traits().overlap(*built, other))
              << codec_->describe(*built) << " meets " << codec_->describe(other);
        }
      }
      live.push_back(std::move(*built));
    }
    if (live.size() > 20) {
      const std::size_t victim = random() % live.size();
      ASSERT_TRUE(controller_->release(live[victim]));
      live.erase(live.begin() + static_cast<std::ptrdiff_t>(victim));
    }
  }
}

TEST_F(InterconnectControllerTest, IC18_ExhaustionPassesWhenAStepEnds) {
  HAL_REQUIRE_TRAIT(limit() != 0, "its grants are not limited");
  std::vector<Credential> all;
  EXPECT_EQ(fill(*controller_, &all), limit());
  const auto refused = controller_->build_credential(layout(1, 1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::exhausted);
  EXPECT_EQ(refused.error().code, EAGAIN);

  ASSERT_TRUE(controller_->release(all.back()));

  EXPECT_TRUE(controller_->build_credential(layout(1, 1)));
}

TEST_F(InterconnectControllerTest, IC19_ThreadsNeverShareAGrant) {
  constexpr int kThreads = 8;
  std::atomic<int> failures{0};
  std::vector<std::vector<Credential>> kept(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 30; ++round) {
        auto built = controller_->build_credential(layout(1 + t % 3, 2));
        if (!built) {
          ++failures;
        } else if (round % 3 == 0) {
          kept[t].push_back(std::move(*built));
        } else if (!controller_->release(*built)) {
          ++failures;
        }
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(failures, 0);
  std::vector<Credential> live;
  for (auto& own : kept) live.insert(live.end(), own.begin(), own.end());
  for (std::size_t i = 0; traits().overlap && i < live.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) ASSERT_FALSE(traits().overlap(live[i], live[j]));
  }
  for (const Credential& credential : live) EXPECT_TRUE(controller_->release(credential));
  if (limit() != 0) {
    EXPECT_EQ(fill(*controller_), limit()) << "the state is not as at the start";
  }
}

}  // namespace
}  // namespace hal::conformance
