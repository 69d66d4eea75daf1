// SPDX-License-Identifier: BSD-3-Clause
#include "hal/step_layout.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <limits>
#include <numeric>
#include <rapidcheck.h>
#include <vector>

namespace hal {
namespace {

using Counts = std::vector<std::uint32_t>;

NodeList nodes(std::size_t count) {
  return *NodeList::parse("n[0-" + std::to_string(count - 1) + "]");
}

struct Seat {
  std::uint32_t node;
  std::uint32_t local;
};

/// Seats in rank order, dealt one by one as the words of the definition say.
std::vector<Seat> deal(const Counts& counts, TaskDistribution distribution) {
  std::vector<Seat> seats;
  if (distribution == TaskDistribution::block) {
    for (std::uint32_t node = 0; node < counts.size(); ++node) {
      for (std::uint32_t local = 0; local < counts[node]; ++local) seats.push_back({node, local});
    }
    return seats;
  }
  const std::uint32_t rounds = *std::ranges::max_element(counts);
  for (std::uint32_t round = 0; round < rounds; ++round) {
    for (std::uint32_t node = 0; node < counts.size(); ++node) {
      if (counts[node] > round) seats.push_back({node, round});
    }
  }
  return seats;
}

bool agrees(const StepLayout& layout, const Counts& counts) {
  const auto seats = deal(counts, layout.distribution());
  if (layout.task_count() != seats.size() || layout.node_count() != counts.size()) return false;
  if (layout.max_tasks_per_node() != *std::ranges::max_element(counts)) return false;
  for (std::uint32_t node = 0; node < counts.size(); ++node) {
    if (layout.tasks_on(node) != counts[node]) return false;
  }
  for (std::uint32_t rank = 0; rank < seats.size(); ++rank) {
    const TaskPlace place = layout.place_of(rank);
    if (place.node_index != seats[rank].node || place.local_id != seats[rank].local) return false;
    if (place.rank != rank || place.task_count != seats.size()) return false;
    if (place.node_count != counts.size()) return false;
    if (layout.rank_of(place.node_index, place.local_id) != rank) return false;
  }
  return true;
}

Counts balanced_counts(std::uint32_t node_count, std::uint32_t task_count) {
  Counts counts(node_count, 0);
  for (std::uint32_t task = 0; task < task_count; ++task) ++counts[task % node_count];
  return counts;
}

const auto kBoth = {TaskDistribution::block, TaskDistribution::cyclic};

TEST(StepLayout, BlockAndCyclicOfTheDocument) {
  const auto block = StepLayout::from_counts(nodes(2), 4, TaskDistribution::block);
  const auto cyclic = StepLayout::from_counts(nodes(2), 4, TaskDistribution::cyclic);

  EXPECT_EQ(block->place_of(1).node_index, 0U);
  EXPECT_EQ(block->place_of(2).node_index, 1U);
  EXPECT_EQ(cyclic->place_of(1).node_index, 1U);
  EXPECT_EQ(cyclic->place_of(2).node_index, 0U);
}

TEST(StepLayout, EverySmallBalancedLayout) {
  for (std::uint32_t node_count = 1; node_count <= 7; ++node_count) {
    for (std::uint32_t task_count = 1; task_count <= 23; ++task_count) {
      for (const auto distribution : kBoth) {
        const auto layout = StepLayout::from_counts(nodes(node_count), task_count, distribution);
        ASSERT_TRUE(layout);
        EXPECT_TRUE(layout->balanced());
        EXPECT_TRUE(agrees(*layout, balanced_counts(node_count, task_count)))
            << node_count << " nodes, " << task_count << " tasks";
      }
    }
  }
}

TEST(StepLayout, AnyCountsAgreeWithTheOracle) {
  EXPECT_TRUE(rc::check([](bool cyclic) {
    const auto counts =
        *rc::gen::nonEmpty(rc::gen::container<Counts>(rc::gen::inRange<std::uint32_t>(0, 9)));
    RC_PRE(std::accumulate(counts.begin(), counts.end(), 0U) > 0);
    const auto distribution = cyclic ? TaskDistribution::cyclic : TaskDistribution::block;

    const auto layout = StepLayout::from_tasks(nodes(counts.size()), counts, distribution);

    RC_ASSERT(layout.has_value());
    RC_ASSERT(agrees(*layout, counts));
    const auto total = layout->task_count();
    RC_ASSERT(layout->balanced() ==
              (counts == balanced_counts(static_cast<std::uint32_t>(counts.size()), total)));
  }));
}

TEST(StepLayout, RoundsSkipFullNodes) {
  const auto layout =
      StepLayout::from_tasks(nodes(4), Counts{1, 0, 3, 2}, TaskDistribution::cyclic);

  ASSERT_TRUE(layout);
  EXPECT_FALSE(layout->balanced());
  Counts order;
  for (std::uint32_t rank = 0; rank < 6; ++rank) order.push_back(layout->place_of(rank).node_index);
  EXPECT_EQ(order, (Counts{0, 2, 3, 2, 3, 2}));
}

TEST(StepLayout, LargestTaskCount) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::int32_t>::max();
  for (const auto distribution : kBoth) {
    const auto layout = StepLayout::from_counts(nodes(100'000), kMost, distribution);
    ASSERT_TRUE(layout);
    for (const std::uint32_t rank : {0U, 1U, 99'999U, 100'000U, kMost / 2, kMost - 1}) {
      const TaskPlace place = layout->place_of(rank);
      EXPECT_EQ(layout->rank_of(place.node_index, place.local_id), rank);
      EXPECT_LT(place.local_id, layout->tasks_on(place.node_index));
    }
  }
  const Counts skewed{kMost - 1, 0, 1};
  for (const auto distribution : kBoth) {
    const auto layout = StepLayout::from_tasks(nodes(3), skewed, distribution);
    ASSERT_TRUE(layout);
    for (const std::uint32_t rank : {0U, 1U, 2U, kMost / 2, kMost - 1}) {
      const TaskPlace place = layout->place_of(rank);
      EXPECT_EQ(layout->rank_of(place.node_index, place.local_id), rank);
    }
  }
}

TEST(StepLayout, Refusals) {
  constexpr std::uint32_t kTooMany = std::uint32_t{1} << 31;
  const auto block = TaskDistribution::block;
  const auto refused = [](const Result<StepLayout>& layout) {
    return !layout && layout.error().kind == Errc::invalid_argument && layout.error().code != 0;
  };

  EXPECT_TRUE(refused(StepLayout::from_counts(NodeList(), 1, block)));
  EXPECT_TRUE(refused(StepLayout::from_counts(nodes(2), 0, block)));
  EXPECT_TRUE(refused(StepLayout::from_counts(nodes(2), kTooMany, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(nodes(2), Counts{1}, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(nodes(2), Counts{1, 1, 1}, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(nodes(2), Counts{0, 0}, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(nodes(2), Counts{kTooMany, kTooMany}, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(nodes(2), Counts{kTooMany - 1, 1}, block)));
  EXPECT_TRUE(refused(StepLayout::from_tasks(NodeList(), Counts{}, block)));
}

TEST(StepLayout, NodeOutsideHasNoTasks) {
  EXPECT_EQ(StepLayout::from_counts(nodes(2), 8, TaskDistribution::block)->tasks_on(2), 0U);
}

}  // namespace
}  // namespace hal
