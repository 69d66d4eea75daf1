// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hal/node_list.h"
#include "hal/result.h"
#include "hal/types.h"

namespace hal {

enum class TaskDistribution {
  block,   ///< fill a node before the next one: ranks 0, 1 on node 0
  cyclic,  ///< one task a node, round after round: rank 0 on node 0, rank 1 on node 1
};

/// Which task of a step runs where. Immutable; node indices follow the node list's order.
class StepLayout {
 public:
  /// From a task count alone, as the classic switch API gives it: the first (tasks mod nodes)
  /// nodes get one task more than the rest, which may be none. Costs nothing per node or task.
  /// @return invalid_argument: no nodes, no tasks, or more than 2^31-1 tasks.
  [[nodiscard]] static Result<StepLayout> from_counts(NodeList nodes, std::uint32_t task_count,
                                                      TaskDistribution distribution);

  /// From real counts per node, in the order of `nodes`; a count may be 0 only if another is not.
  /// @return invalid_argument: wrong length, no task at all, or more than 2^31-1 tasks.
  [[nodiscard]] static Result<StepLayout> from_tasks(NodeList nodes,
                                                     std::span<const std::uint32_t> tasks_per_node,
                                                     TaskDistribution distribution);

  [[nodiscard]] const NodeList& nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint32_t node_count() const noexcept {
    return static_cast<std::uint32_t>(nodes_.size());
  }
  [[nodiscard]] std::uint32_t task_count() const noexcept { return task_count_; }
  [[nodiscard]] TaskDistribution distribution() const noexcept { return distribution_; }

  /// Tasks on one node / on the fullest node.
  [[nodiscard]] std::uint32_t tasks_on(std::uint32_t node_index) const;
  [[nodiscard]] std::uint32_t max_tasks_per_node() const noexcept { return max_tasks_; }

  /// True when only the first `task_count mod node_count` nodes have one task more.
  [[nodiscard]] bool balanced() const noexcept { return counts_.empty(); }

  /// Rank of task `local_id` of node `node_index`; both must exist. Constant time, except that an
  /// unbalanced cyclic layout looks at each node once.
  [[nodiscard]] std::uint32_t rank_of(std::uint32_t node_index, std::uint32_t local_id) const;

  /// The place of a rank below task_count(). Constant time when balanced, a binary search for an
  /// unbalanced block layout, nodes x log(tasks) for an unbalanced cyclic one.
  [[nodiscard]] TaskPlace place_of(std::uint32_t rank) const;

 private:
  void place_in_rounds(TaskPlace& place) const;

  NodeList nodes_;
  std::uint32_t task_count_ = 0;
  std::uint32_t max_tasks_ = 0;
  TaskDistribution distribution_ = TaskDistribution::block;
  std::vector<std::uint32_t> counts_;      ///< empty when balanced
  std::vector<std::uint32_t> first_rank_;  ///< block, unbalanced: rank of each node's first task
};

}  // namespace hal
