// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "hal/result.h"

namespace hal {

/// A set of node numbers, as sorted, disjoint, non-adjacent closed intervals.
class NodeSet {
 public:
  struct Interval {
    std::uint32_t first;
    std::uint32_t last;
    [[nodiscard]] bool operator==(const Interval&) const = default;
  };

  NodeSet() = default;
  /// In any order; overlapping and adjacent ones are merged, backward ones are empty.
  explicit NodeSet(std::vector<Interval> intervals);

  [[nodiscard]] bool intersects(const NodeSet& other) const noexcept;
  [[nodiscard]] bool empty() const noexcept { return intervals_.empty(); }
  [[nodiscard]] std::uint64_t count() const noexcept;
  /// Least and greatest member; the set must not be empty.
  [[nodiscard]] std::uint32_t lowest() const noexcept { return intervals_.front().first; }
  [[nodiscard]] std::uint32_t highest() const noexcept { return intervals_.back().last; }
  [[nodiscard]] std::span<const Interval> intervals() const noexcept { return intervals_; }
  [[nodiscard]] bool operator==(const NodeSet&) const = default;

 private:
  std::vector<Interval> intervals_;
};

/// Hands out runs of consecutive numbers 0..capacity-1 (contexts, windows) over sets of nodes: two
/// live grants whose node sets meet never share a number. The search starts where the last grant
/// ended, so that a number is reused as late as possible. Not thread safe: its owner locks. The
/// cost of a call depends on the grants around the numbers in question, not on all of them.
class RangeAllocator {
 public:
  struct Grant {
    NodeSet nodes;
    std::uint32_t first = 0;
    std::uint32_t count = 0;
  };
  using Key = std::uint64_t;  ///< the owner's name for a grant, e.g. a program number

  explicit RangeAllocator(std::uint32_t capacity) : capacity_(capacity) {}
  RangeAllocator(const RangeAllocator&) = delete;
  RangeAllocator& operator=(const RangeAllocator&) = delete;
  RangeAllocator(RangeAllocator&&) = default;
  RangeAllocator& operator=(RangeAllocator&&) = default;
  ~RangeAllocator() = default;

  /// @return first number of the run. invalid_argument: count 0 or above capacity, no nodes;
  /// busy: `key` is live; exhausted (code EAGAIN): no such run is free on all these nodes.
  [[nodiscard]] Result<std::uint32_t> allocate(Key key, NodeSet nodes, std::uint32_t count);

  /// Takes exactly this run, after a restart; replaces a live grant of the same key.
  /// @return invalid_argument: outside the capacity; busy: overlaps the grant of another key.
  [[nodiscard]] Result<> reserve(Key key, Grant grant);

  /// True if `key` was live.
  bool release(Key key);

  [[nodiscard]] const Grant* find(Key key) const;
  [[nodiscard]] const std::map<Key, Grant>& grants() const noexcept { return grants_; }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }

  /// Where the next search starts; part of the saved state.
  [[nodiscard]] std::uint32_t cursor() const noexcept { return cursor_; }
  void set_cursor(std::uint32_t cursor) noexcept { cursor_ = cursor % (capacity_ ? capacity_ : 1); }
  void clear() noexcept;

 private:
  /// Grants of 2^i to 2^(i+1)-1 numbers, by first number and key.
  using Index = std::map<std::pair<std::uint32_t, Key>, const Grant*>;

  [[nodiscard]] const Grant* conflict(const NodeSet& nodes, std::uint32_t first,
                                      std::uint32_t count, std::optional<Key> except) const;
  [[nodiscard]] std::optional<std::uint32_t> search(const NodeSet& nodes, std::uint32_t count,
                                                    std::uint64_t from, std::uint64_t to) const;
  void insert(Key key, Grant grant);

  std::uint32_t capacity_;
  std::uint32_t cursor_ = 0;
  std::map<Key, Grant> grants_;
  std::array<Index, 32> by_first_;
  std::uint32_t sizes_ = 0;  ///< bit i: by_first_[i] is not empty
};

}  // namespace hal
