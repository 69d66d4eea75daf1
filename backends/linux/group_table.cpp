// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/group_table.h"

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <string>
#include <sys/random.h>
#include <time.h>

namespace hal::linux_host {
namespace {

/// At least 2^62 and below 2^63: no process number, not cut to one without notice, and 2^62 serials
/// before all ones.
std::uint64_t random_start() noexcept {
  std::uint64_t start = 0;
  if (::getrandom(&start, sizeof start, 0) != static_cast<ssize_t>(sizeof start)) {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    start = static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
            static_cast<std::uint64_t>(now.tv_nsec);
  }
  constexpr std::uint64_t kTop = std::uint64_t{1} << 62;
  return (start & (kTop - 1)) | kTop;
}

Failure unknown(ContainerId id) {
  return fail(Errc::not_found, ESRCH, "no process aggregate " + std::to_string(to_number(id)));
}

}  // namespace

GroupTable::GroupTable() : first_(random_start()) {}

ContainerId GroupTable::create() {
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = first_ + issued_;
  aggregates_.emplace(id, Aggregate{});
  ++issued_;
  return ContainerId{id};
}

Result<ProcessGroups> GroupTable::groups(ContainerId id) const {
  const std::lock_guard lock(mutex_);
  const auto found = aggregates_.find(to_number(id));
  if (found == aggregates_.end()) return unknown(id);
  return found->second.groups;
}

Result<ProcessGroups> GroupTable::close(ContainerId id) {
  const std::lock_guard lock(mutex_);
  const auto found = aggregates_.find(to_number(id));
  if (found == aggregates_.end()) return unknown(id);
  found->second.closed = true;
  return found->second.groups;
}

Result<> GroupTable::check_open(ContainerId id) const {
  const auto found = aggregates_.find(to_number(id));
  if (found == aggregates_.end()) return unknown(id);
  if (!found->second.closed) return {};
  return fail(Errc::busy, EBUSY,
              "process aggregate " + std::to_string(to_number(id)) + " is being killed");
}

Result<> GroupTable::require_open(ContainerId id) const {
  const std::lock_guard lock(mutex_);
  return check_open(id);
}

Result<> GroupTable::insert(ContainerId id, std::shared_ptr<const ProcessGroup> group) {
  const std::lock_guard lock(mutex_);
  if (auto open = check_open(id); !open) return open;
  const pid_t number = group->number();
  const auto held = owners_.find(number);
  if (held != owners_.end() && held->second.group->holds_number()) {
    if (held->second.id == id) return {};
    return fail(Errc::busy, EBUSY,
                "process group " + std::to_string(number) + " is in aggregate " +
                    std::to_string(to_number(held->second.id)) + " already");
  }
  auto& aggregate = aggregates_[to_number(id)];
  if (aggregate.groups.size() >= aggregate.sweep_at) forget_gone_groups(aggregate);
  aggregate.groups.push_back(group);
  owners_.insert_or_assign(number, Owner{id, std::move(group)});
  return {};
}

void GroupTable::forget_gone_groups(Aggregate& aggregate) {
  std::erase_if(aggregate.groups, [this](const auto& group) {
    if (group->holds_number()) return false;
    const auto held = owners_.find(group->number());
    if (held != owners_.end() && held->second.group == group) owners_.erase(held);
    return true;
  });
  aggregate.sweep_at = std::max<std::size_t>(16, 2 * aggregate.groups.size());
}

std::optional<GroupTable::Owner> GroupTable::owner_of(pid_t group_number) const {
  std::optional<Owner> owner;
  {
    const std::lock_guard lock(mutex_);
    const auto held = owners_.find(group_number);
    if (held == owners_.end()) return {};
    owner = held->second;
  }
  if (!owner->group->holds_number()) return {};
  return owner;
}

Result<> GroupTable::destroy(ContainerId id) {
  const std::lock_guard lock(mutex_);
  if (to_number(id) - first_ >= issued_) return unknown(id);
  const auto found = aggregates_.find(to_number(id));
  if (found == aggregates_.end()) return {};
  for (const auto& group : found->second.groups) {
    const auto held = owners_.find(group->number());
    if (held != owners_.end() && held->second.group == group) owners_.erase(held);
  }
  aggregates_.erase(found);
  return {};
}

}  // namespace hal::linux_host
