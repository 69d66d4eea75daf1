// SPDX-License-Identifier: BSD-3-Clause
#include "hal/range_allocator.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <limits>
#include <string>

namespace hal {
namespace {

/// True if the numbers first..first+count-1 of `grant` meet those of the other run.
bool overlaps(const RangeAllocator::Grant& grant, std::uint64_t first, std::uint64_t count) {
  return grant.first < first + count && first < std::uint64_t{grant.first} + grant.count;
}

unsigned size_class(std::uint32_t count) {
  return static_cast<unsigned>(std::bit_width(count)) - 1;
}

}  // namespace

NodeSet::NodeSet(std::vector<Interval> intervals) : intervals_(std::move(intervals)) {
  const auto disorder = [](const Interval& one, const Interval& next) {
    return one.last < one.first || next.first <= std::uint64_t{one.last} + 1;
  };
  if (std::ranges::adjacent_find(intervals_, disorder) == intervals_.end() &&
      (intervals_.empty() || intervals_.back().first <= intervals_.back().last)) {
    return;
  }
  std::erase_if(intervals_, [](const Interval& one) { return one.first > one.last; });
  std::ranges::sort(intervals_, {}, &Interval::first);
  std::size_t kept = 0;
  for (const Interval& next : intervals_) {
    if (kept > 0 && next.first <= std::uint64_t{intervals_[kept - 1].last} + 1) {
      intervals_[kept - 1].last = std::max(intervals_[kept - 1].last, next.last);
    } else {
      intervals_[kept++] = next;
    }
  }
  intervals_.resize(kept);
}

bool NodeSet::intersects(const NodeSet& other) const noexcept {
  if (empty() || other.empty() || highest() < other.lowest() || other.highest() < lowest()) {
    return false;
  }
  auto mine = std::ranges::lower_bound(intervals_, other.lowest(), {}, &Interval::last);
  auto theirs = std::ranges::lower_bound(other.intervals_, lowest(), {}, &Interval::last);
  while (mine != intervals_.end() && theirs != other.intervals_.end()) {
    if (mine->last < theirs->first) {
      ++mine;
    } else if (theirs->last < mine->first) {
      ++theirs;
    } else {
      return true;
    }
  }
  return false;
}

std::uint64_t NodeSet::count() const noexcept {
  std::uint64_t total = 0;
  for (const Interval& one : intervals_) total += std::uint64_t{one.last} - one.first + 1;
  return total;
}

const RangeAllocator::Grant* RangeAllocator::conflict(const NodeSet& nodes, std::uint32_t first,
                                                      std::uint32_t count,
                                                      std::optional<Key> except) const {
  for (std::uint32_t left = sizes_; left != 0; left &= left - 1) {
    const auto size = static_cast<unsigned>(std::countr_zero(left));
    const auto& index = by_first_[size];
    // No grant of this class is longer than `reach`, so none further left can overlap.
    const std::uint64_t reach = std::uint64_t{2} << size;
    const auto from = first >= reach ? static_cast<std::uint32_t>(first - reach + 1) : 0U;
    for (auto at = index.lower_bound({from, 0}); at != index.end(); ++at) {
      if (at->first.first >= std::uint64_t{first} + count) break;
      if (at->first.second == except || !overlaps(*at->second, first, count)) continue;
      if (at->second->nodes.intersects(nodes)) return at->second;
    }
  }
  return nullptr;
}

std::optional<std::uint32_t> RangeAllocator::search(const NodeSet& nodes, std::uint32_t count,
                                                    std::uint64_t from, std::uint64_t to) const {
  for (std::uint64_t first = from; first < to;) {
    const Grant* blocking = conflict(nodes, static_cast<std::uint32_t>(first), count, {});
    if (blocking == nullptr) return static_cast<std::uint32_t>(first);
    first = std::uint64_t{blocking->first} + blocking->count;
  }
  return std::nullopt;
}

void RangeAllocator::insert(Key key, Grant grant) {
  // Keys mostly count up.
  const Grant& stored = grants_.insert_or_assign(grants_.end(), key, std::move(grant))->second;
  const unsigned size = size_class(stored.count);
  by_first_[size].insert_or_assign({stored.first, key}, &stored);
  sizes_ |= 1U << size;
}

Result<std::uint32_t> RangeAllocator::allocate(Key key, NodeSet nodes, std::uint32_t count) {
  if (count == 0 || count > capacity_) {
    return fail(Errc::invalid_argument, EINVAL,
                std::to_string(count) + " numbers asked of " + std::to_string(capacity_));
  }
  if (nodes.empty()) return fail(Errc::invalid_argument, EINVAL, "a grant without nodes");
  if (grants_.contains(key)) {
    return fail(Errc::busy, EBUSY, "grant " + std::to_string(key) + " is live");
  }
  const std::uint64_t ends = std::uint64_t{capacity_} - count + 1;  // starts are below this
  auto first = search(nodes, count, cursor_, ends);
  if (!first) first = search(nodes, count, 0, std::min<std::uint64_t>(cursor_, ends));
  if (!first) {
    return fail(Errc::exhausted, EAGAIN,
                "no " + std::to_string(count) + " consecutive of " + std::to_string(capacity_) +
                    " numbers are free on all " + std::to_string(nodes.count()) +
                    " nodes: wait for a step to end");
  }
  insert(key, Grant{std::move(nodes), *first, count});
  set_cursor(*first + count);
  return *first;
}

Result<> RangeAllocator::reserve(Key key, Grant grant) {
  if (grant.count == 0 || grant.nodes.empty() ||
      std::uint64_t{grant.first} + grant.count > capacity_) {
    return fail(Errc::invalid_argument, EINVAL,
                "grant " + std::to_string(key) + " of " + std::to_string(grant.count) +
                    " numbers from " + std::to_string(grant.first) + " on " +
                    std::to_string(grant.nodes.count()) + " nodes is outside 0.." +
                    std::to_string(capacity_) + " or empty");
  }
  if (conflict(grant.nodes, grant.first, grant.count, key) != nullptr) {
    return fail(Errc::busy, EBUSY,
                "grant " + std::to_string(key) + " of " + std::to_string(grant.count) +
                    " numbers from " + std::to_string(grant.first) +
                    " overlaps another live grant");
  }
  release(key);
  insert(key, std::move(grant));
  return {};
}

bool RangeAllocator::release(Key key) {
  const auto found = grants_.find(key);
  if (found == grants_.end()) return false;
  const unsigned size = size_class(found->second.count);
  by_first_[size].erase({found->second.first, key});
  if (by_first_[size].empty()) sizes_ &= ~(1U << size);
  grants_.erase(found);
  return true;
}

const RangeAllocator::Grant* RangeAllocator::find(Key key) const {
  const auto found = grants_.find(key);
  return found == grants_.end() ? nullptr : &found->second;
}

void RangeAllocator::clear() noexcept {
  for (auto& index : by_first_) index.clear();
  sizes_ = 0;
  grants_.clear();
  cursor_ = 0;
}

}  // namespace hal
