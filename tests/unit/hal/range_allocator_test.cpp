// SPDX-License-Identifier: BSD-3-Clause
#include "hal/range_allocator.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <gtest/gtest.h>
#include <limits>
#include <map>
#include <optional>
#include <rapidcheck.h>
#include <vector>

namespace hal {
namespace {

using Key = RangeAllocator::Key;
using Mask = std::uint32_t;  // nodes 0..31, one bit each

NodeSet nodes_of(Mask mask) {
  std::vector<NodeSet::Interval> singles;
  for (std::uint32_t node = 0; node < 32; ++node) {
    if ((mask >> node & 1) != 0) singles.push_back({node, node});
  }
  return NodeSet(std::move(singles));
}

/// The rules of the contract in the plainest form: tries every start and looks at every grant.
class Oracle {
 public:
  explicit Oracle(std::uint32_t capacity) : capacity_(capacity) {}

  struct Held {
    Mask nodes;
    std::uint32_t first;
    std::uint32_t count;
  };

  [[nodiscard]] bool is_free(Mask nodes, std::uint32_t first, std::uint32_t count,
                             Key except) const {
    return std::ranges::none_of(held_, [&](const auto& entry) {
      const auto& [key, held] = entry;
      return key != except && (held.nodes & nodes) != 0 && held.first < first + count &&
             first < held.first + held.count;
    });
  }

  std::optional<std::uint32_t> allocate(Key key, Mask nodes, std::uint32_t count) {
    for (std::uint32_t step = 0; step < capacity_; ++step) {
      const std::uint32_t first = (cursor_ + step) % capacity_;
      if (first + count > capacity_ || !is_free(nodes, first, count, kNoKey)) continue;
      held_[key] = {nodes, first, count};
      cursor_ = (first + count) % capacity_;
      return first;
    }
    return std::nullopt;
  }

  bool reserve(Key key, Held grant) {
    if (!is_free(grant.nodes, grant.first, grant.count, key)) return false;
    held_[key] = grant;
    return true;
  }

  bool release(Key key) { return held_.erase(key) == 1; }

  static constexpr Key kNoKey = std::numeric_limits<Key>::max();

  std::uint32_t capacity_;
  std::uint32_t cursor_ = 0;
  std::map<Key, Held> held_;
};

bool same(const RangeAllocator& allocator, const Oracle& oracle) {
  return allocator.cursor() == oracle.cursor_ &&
         std::ranges::equal(allocator.grants(), oracle.held_, [](const auto& a, const auto& b) {
           return a.first == b.first && a.second.nodes == nodes_of(b.second.nodes) &&
                  a.second.first == b.second.first && a.second.count == b.second.count;
         });
}

TEST(NodeSet, IsSortedAndMerged) {
  using Intervals = std::vector<NodeSet::Interval>;
  const auto merged = [](Intervals in) {
    const NodeSet set(std::move(in));
    return Intervals(set.intervals().begin(), set.intervals().end());
  };
  constexpr std::uint32_t kLast = std::numeric_limits<std::uint32_t>::max();

  EXPECT_EQ(merged({{7, 9}, {1, 2}, {3, 4}}), (Intervals{{1, 4}, {7, 9}}));
  EXPECT_EQ(merged({{1, 10}, {2, 3}, {5, 12}}), (Intervals{{1, 12}}));
  EXPECT_EQ(merged({{5, 4}}), Intervals{});
  EXPECT_EQ(merged({{3, kLast}, {0, 1}, {kLast, kLast}}), (Intervals{{0, 1}, {3, kLast}}));
  EXPECT_EQ(NodeSet({{0, kLast}}).count(), std::uint64_t{1} << 32);
  EXPECT_TRUE(NodeSet().empty());
}

TEST(NodeSet, IntersectsAgreesWithBits) {
  EXPECT_TRUE(rc::check([](Mask a, Mask b) {
    RC_ASSERT(nodes_of(a).intersects(nodes_of(b)) == ((a & b) != 0));
    RC_ASSERT(nodes_of(a).count() == static_cast<unsigned>(std::popcount(a)));
  }));
}

/// Every sequence of a few operations on three nodes, by depth-first search that undoes each step.
class Exhaustive {
 public:
  static constexpr std::uint32_t kCapacity = 6;

  void explore(int depth) {
    if (depth == 0 || failed_) return;
    for (Mask nodes = 1; nodes < 8; ++nodes) {
      for (const std::uint32_t count : {1U, 2U, 3U, 6U}) try_allocate(depth, nodes, count);
    }
    const auto live = oracle_.held_;
    for (const auto& [key, grant] : live) try_release(depth, key, grant);
  }

  [[nodiscard]] bool failed() const { return failed_; }
  [[nodiscard]] int steps() const { return steps_; }

 private:
  void try_allocate(int depth, Mask nodes, std::uint32_t count) {
    const std::uint32_t cursor = oracle_.cursor_;
    const Key key = next_key_++;
    const auto expected = oracle_.allocate(key, nodes, count);
    const auto got = allocator_.allocate(key, nodes_of(nodes), count);
    check(expected ? got == *expected : !got && got.error().code == EAGAIN);
    explore(depth - 1);
    oracle_.release(key);
    oracle_.cursor_ = cursor;
    allocator_.release(key);
    allocator_.set_cursor(cursor);
  }

  void try_release(int depth, Key key, const Oracle::Held& grant) {
    oracle_.release(key);
    check(allocator_.release(key));
    explore(depth - 1);
    const bool expected = oracle_.reserve(key, grant);
    const auto got = allocator_.reserve(key, {nodes_of(grant.nodes), grant.first, grant.count});
    check(expected && got);
  }

  void check(bool holds) {
    ++steps_;
    failed_ = failed_ || !holds || !same(allocator_, oracle_);
  }

  RangeAllocator allocator_{kCapacity};
  Oracle oracle_{kCapacity};
  Key next_key_ = 1;
  bool failed_ = false;
  int steps_ = 0;
};

TEST(RangeAllocator, EverySmallHistoryAgreesWithTheOracle) {
  Exhaustive search;

  search.explore(4);

  EXPECT_FALSE(search.failed()) << "after " << search.steps() << " steps";
  EXPECT_GT(search.steps(), 100'000);
}

TEST(RangeAllocator, LongHistoriesAgreeWithTheOracle) {
  EXPECT_TRUE(rc::check([] {
    const auto capacity = *rc::gen::inRange<std::uint32_t>(1, 65);
    RangeAllocator allocator(capacity);
    Oracle oracle(capacity);
    const int length = *rc::gen::inRange(0, 200);
    for (int i = 0; i < length; ++i) {
      const auto key = *rc::gen::inRange<Key>(0, 40);
      const auto nodes = *rc::gen::nonZero<Mask>() & *rc::gen::nonZero<Mask>();
      const auto count = *rc::gen::inRange<std::uint32_t>(1, capacity + 1);
      const auto first = *rc::gen::inRange<std::uint32_t>(0, capacity - count + 1);
      const int verb = *rc::gen::inRange(0, 4);
      if (verb == 0) {
        RC_ASSERT(allocator.release(key) == oracle.release(key));
      } else if (nodes != 0 && verb == 1) {
        RC_ASSERT(allocator.reserve(key, {nodes_of(nodes), first, count}).has_value() ==
                  oracle.reserve(key, {nodes, first, count}));
      } else if (nodes != 0 && !oracle.held_.contains(key)) {
        const auto expected = oracle.allocate(key, nodes, count);
        const auto got = allocator.allocate(key, nodes_of(nodes), count);
        RC_ASSERT(got.has_value() == expected.has_value());
        if (got) RC_ASSERT(*got == *expected);
      }
      RC_ASSERT(same(allocator, oracle));
    }
  }));
}

TEST(RangeAllocator, ReusesAsLateAsPossible) {
  RangeAllocator allocator(4);
  for (const std::uint32_t expected : {0U, 1U, 2U, 3U, 0U}) {
    EXPECT_EQ(allocator.allocate(1, nodes_of(1), 1), expected);
    EXPECT_TRUE(allocator.release(1));
  }
}

TEST(RangeAllocator, RunsDoNotWrapAround) {
  RangeAllocator allocator(4);
  allocator.set_cursor(3);

  EXPECT_EQ(allocator.allocate(1, nodes_of(1), 2), 0U);
  EXPECT_EQ(allocator.cursor(), 2U);
}

TEST(RangeAllocator, DisjointNodesShareNumbers) {
  RangeAllocator allocator(2);
  EXPECT_TRUE(allocator.allocate(1, nodes_of(0b01), 2));
  EXPECT_TRUE(allocator.allocate(2, nodes_of(0b10), 2));

  const auto third = allocator.allocate(3, nodes_of(0b11), 1);

  ASSERT_FALSE(third);
  EXPECT_EQ(third.error().kind, Errc::exhausted);
  EXPECT_EQ(third.error().code, EAGAIN);
  EXPECT_EQ(allocator.grants().size(), 2U);
}

TEST(RangeAllocator, Refusals) {
  RangeAllocator allocator(8);
  ASSERT_TRUE(allocator.allocate(1, nodes_of(1), 4));
  constexpr std::uint32_t kHuge = std::numeric_limits<std::uint32_t>::max();

  EXPECT_EQ(allocator.allocate(2, nodes_of(1), 0).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.allocate(2, nodes_of(1), 9).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.allocate(2, NodeSet(), 1).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.allocate(1, nodes_of(1), 1).error().kind, Errc::busy);
  EXPECT_EQ(allocator.reserve(2, {nodes_of(1), 8, 1}).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.reserve(2, {nodes_of(1), 4, 0}).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.reserve(2, {nodes_of(1), kHuge, kHuge}).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.reserve(2, {NodeSet(), 0, 1}).error().kind, Errc::invalid_argument);
  EXPECT_EQ(allocator.reserve(2, {nodes_of(1), 3, 1}).error().kind, Errc::busy);
  EXPECT_FALSE(allocator.release(2));
  EXPECT_EQ(allocator.grants().size(), 1U);
}

TEST(RangeAllocator, ReserveReplacesItsOwnGrant) {
  RangeAllocator allocator(8);
  ASSERT_TRUE(allocator.allocate(1, nodes_of(1), 4));

  ASSERT_TRUE(allocator.reserve(1, {nodes_of(2), 2, 4}));

  EXPECT_EQ(allocator.find(1)->first, 2U);
  EXPECT_TRUE(allocator.find(1)->nodes == nodes_of(2));
  EXPECT_TRUE(allocator.reserve(2, {nodes_of(1), 0, 8}));
}

TEST(RangeAllocator, ClearForgetsEverything) {
  RangeAllocator allocator(8);
  ASSERT_TRUE(allocator.allocate(1, nodes_of(1), 8));

  allocator.clear();

  EXPECT_EQ(allocator.find(1), nullptr);
  EXPECT_EQ(allocator.allocate(1, nodes_of(1), 8), 0U);
}

TEST(RangeAllocator, CapacityAtTheEdgesOf32Bits) {
  constexpr std::uint32_t kMost = std::numeric_limits<std::uint32_t>::max();
  RangeAllocator allocator(kMost);
  allocator.set_cursor(kMost - 2);

  EXPECT_EQ(allocator.allocate(1, nodes_of(1), 2), kMost - 2);
  EXPECT_EQ(allocator.cursor(), 0U);
  EXPECT_EQ(allocator.allocate(2, nodes_of(1), kMost - 2), 0U);
  EXPECT_FALSE(allocator.allocate(3, nodes_of(1), 1));
  EXPECT_FALSE(RangeAllocator(0).allocate(1, nodes_of(1), 1));
}

TEST(RangeAllocator, TenThousandLiveGrants) {
  RangeAllocator allocator(2048);
  for (std::uint32_t node = 0; node < 10'000; ++node) {
    ASSERT_TRUE(allocator.allocate(node, NodeSet({{node, node}}), 1 + node % 16));
  }

  const auto everywhere = allocator.allocate(10'000, NodeSet({{0, 9'999}}), 1);

  ASSERT_FALSE(everywhere);
  EXPECT_EQ(everywhere.error().kind, Errc::exhausted);
  EXPECT_TRUE(allocator.allocate(10'001, NodeSet({{10'000, 20'000}}), 2048));
}

}  // namespace
}  // namespace hal
