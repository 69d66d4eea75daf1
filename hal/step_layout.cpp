// SPDX-License-Identifier: BSD-3-Clause
#include "hal/step_layout.h"

#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>

namespace hal {
namespace {

constexpr std::uint64_t kMaxTasks = std::numeric_limits<std::int32_t>::max();

Result<> check_totals(std::size_t node_count, std::uint64_t task_count) {
  if (node_count == 0) return fail(Errc::invalid_argument, EINVAL, "step layout without nodes");
  if (node_count > std::numeric_limits<std::uint32_t>::max()) {
    return fail(Errc::invalid_argument, EINVAL,
                "step layout of " + std::to_string(node_count) + " nodes: too many");
  }
  if (task_count == 0) return fail(Errc::invalid_argument, EINVAL, "step layout without tasks");
  if (task_count > kMaxTasks) {
    return fail(Errc::invalid_argument, EINVAL,
                "step layout of " + std::to_string(task_count) + " tasks: at most " +
                    std::to_string(kMaxTasks));
  }
  return {};
}

std::uint32_t balanced_share(std::uint32_t task_count, std::uint32_t node_count,
                             std::uint32_t node_index) {
  return task_count / node_count + (node_index < task_count % node_count ? 1 : 0);
}

/// Tasks that the rounds before `round` place: each node gives one a round until it is full.
std::uint64_t placed_before(std::span<const std::uint32_t> counts, std::uint32_t round) {
  std::uint64_t placed = 0;
  for (const std::uint32_t count : counts) placed += std::min(count, round);
  return placed;
}

}  // namespace

Result<StepLayout> StepLayout::from_counts(NodeList nodes, std::uint32_t task_count,
                                           TaskDistribution distribution) {
  if (auto checked = check_totals(nodes.size(), task_count); !checked) {
    return propagate(std::move(checked));
  }
  StepLayout layout;
  layout.nodes_ = std::move(nodes);
  layout.task_count_ = task_count;
  layout.max_tasks_ = balanced_share(task_count, layout.node_count(), 0);
  layout.distribution_ = distribution;
  return layout;
}

Result<StepLayout> StepLayout::from_tasks(NodeList nodes,
                                          std::span<const std::uint32_t> tasks_per_node,
                                          TaskDistribution distribution) {
  if (tasks_per_node.size() != nodes.size()) {
    return fail(Errc::invalid_argument, EINVAL,
                "step layout: " + std::to_string(tasks_per_node.size()) + " task counts for " +
                    std::to_string(nodes.size()) + " nodes");
  }
  std::uint64_t total = 0;
  for (const std::uint32_t count : tasks_per_node) total += count;
  if (auto checked = check_totals(nodes.size(), total); !checked) {
    return propagate(std::move(checked));
  }
  StepLayout layout;
  layout.nodes_ = std::move(nodes);
  layout.task_count_ = static_cast<std::uint32_t>(total);
  layout.max_tasks_ = *std::ranges::max_element(tasks_per_node);
  layout.distribution_ = distribution;

  std::uint32_t index = 0;
  const bool balanced = std::ranges::all_of(tasks_per_node, [&](std::uint32_t count) {
    return count == balanced_share(layout.task_count_, layout.node_count(), index++);
  });
  if (balanced) return layout;

  layout.counts_.assign(tasks_per_node.begin(), tasks_per_node.end());
  if (distribution == TaskDistribution::block) {
    layout.first_rank_.reserve(tasks_per_node.size());
    std::uint32_t next = 0;
    for (const std::uint32_t count : tasks_per_node) {
      layout.first_rank_.push_back(next);
      next += count;
    }
  }
  return layout;
}

std::uint32_t StepLayout::tasks_on(std::uint32_t node_index) const {
  if (node_index >= node_count()) return 0;
  return balanced() ? balanced_share(task_count_, node_count(), node_index) : counts_[node_index];
}

std::uint32_t StepLayout::rank_of(std::uint32_t node_index, std::uint32_t local_id) const {
  if (distribution_ == TaskDistribution::block) {
    if (!balanced()) return first_rank_[node_index] + local_id;
    const std::uint32_t share = task_count_ / node_count();
    return node_index * share + std::min(node_index, task_count_ % node_count()) + local_id;
  }
  if (balanced()) return local_id * node_count() + node_index;
  const auto before = std::span(counts_).first(node_index);
  const auto sharing =
      std::ranges::count_if(before, [&](std::uint32_t count) { return count > local_id; });
  return static_cast<std::uint32_t>(placed_before(counts_, local_id)) +
         static_cast<std::uint32_t>(sharing);
}

TaskPlace StepLayout::place_of(std::uint32_t rank) const {
  TaskPlace place{.node_count = node_count(), .task_count = task_count_, .rank = rank};
  if (distribution_ == TaskDistribution::block && !balanced()) {
    const auto after = std::ranges::upper_bound(first_rank_, rank);
    place.node_index = static_cast<std::uint32_t>(after - first_rank_.begin()) - 1;
    place.local_id = rank - first_rank_[place.node_index];
  } else if (distribution_ == TaskDistribution::block) {
    const std::uint32_t share = task_count_ / node_count();
    const std::uint32_t larger = task_count_ % node_count();  // these nodes have one more
    const std::uint32_t in_larger = larger * (share + 1);
    place.node_index = rank < in_larger ? rank / (share + 1) : larger + (rank - in_larger) / share;
    place.local_id = rank - rank_of(place.node_index, 0);
  } else if (balanced()) {
    place.node_index = rank % node_count();
    place.local_id = rank / node_count();
  } else {
    place_in_rounds(place);
  }
  return place;
}

void StepLayout::place_in_rounds(TaskPlace& place) const {
  std::uint32_t low = 0;  // the last round that starts at or before the rank
  std::uint32_t high = max_tasks_ - 1;
  while (low < high) {
    const std::uint32_t middle = low + (high - low + 1) / 2;
    if (placed_before(counts_, middle) <= place.rank) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  place.local_id = low;
  auto skip = place.rank - placed_before(counts_, low);
  for (place.node_index = 0;; ++place.node_index) {
    if (counts_[place.node_index] > low && skip-- == 0) return;
  }
}

}  // namespace hal
