// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/grant_ledger.h"

#include <string_view>
#include <unistd.h>

namespace hal::plugin {
namespace {

std::size_t hash_of(const Credential& credential) noexcept {
  const auto wire = credential.wire();
  return std::hash<std::string_view>{}({reinterpret_cast<const char*>(wire.data()), wire.size()});
}

}  // namespace

Grant::Grant(Credential of) : credential(std::move(of)), holder(::getpid()) {}

std::shared_ptr<Grant> GrantLedger::add(const Credential& credential) {
  const std::lock_guard lock(mutex_);
  if (const auto found = locate(credential); found != grants_.end()) return found->second;
  auto grant = std::make_shared<Grant>(credential);
  grants_.emplace(hash_of(credential), grant);
  return grant;
}

std::shared_ptr<Grant> GrantLedger::find(const Credential& credential) const {
  const std::lock_guard lock(mutex_);
  const auto found = locate(credential);
  return found != grants_.end() ? found->second : nullptr;
}

void GrantLedger::remove(const Grant& grant) {
  const std::lock_guard lock(mutex_);
  const auto found = locate(grant.credential);
  if (found != grants_.end() && found->second.get() == &grant) grants_.erase(found);
}

void GrantLedger::clear() {
  const std::lock_guard lock(mutex_);
  for (const auto& [hash, grant] : grants_) grant->released.store(true);
  grants_.clear();
}

std::vector<std::shared_ptr<Grant>> GrantLedger::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::shared_ptr<Grant>> list;
  list.reserve(grants_.size());
  for (const auto& [hash, grant] : grants_) list.push_back(grant);
  return list;
}

GrantLedger::Table::const_iterator GrantLedger::locate(const Credential& credential) const {
  const auto [first, last] = grants_.equal_range(hash_of(credential));
  for (auto entry = first; entry != last; ++entry) {
    if (entry->second->credential == credential) return entry;
  }
  return grants_.end();
}

}  // namespace hal::plugin
