// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <sys/types.h>
#include <unordered_map>
#include <vector>

#include "hal/types.h"

namespace hal::plugin {

/// One live grant of the controller. Shared by the handles that own it: the one on which it was
/// built, or those restored with equal bytes.
struct Grant {
  explicit Grant(Credential of);

  const Credential credential;
  const pid_t holder;          ///< process that may release it; a fork's child may not
  std::atomic<int> owners{0};  ///< handles: the last one to be freed releases
  std::atomic<bool> released{false};
};

/// The grants that this process holds. Thread safe.
class GrantLedger {
 public:
  /// The grant of `credential`: the one that is here already, or a new one.
  [[nodiscard]] std::shared_ptr<Grant> add(const Credential& credential);

  /// The grant of a credential with these bytes, or null.
  [[nodiscard]] std::shared_ptr<Grant> find(const Credential& credential) const;

  void remove(const Grant& grant);

  /// Marks every grant as released and forgets it: the controller's state was replaced.
  void clear();

  [[nodiscard]] std::vector<std::shared_ptr<Grant>> all() const;

 private:
  using Table = std::unordered_multimap<std::size_t, std::shared_ptr<Grant>>;

  [[nodiscard]] Table::const_iterator locate(const Credential& credential) const;

  mutable std::mutex mutex_;
  Table grants_;  ///< by hash of the credential's bytes
};

}  // namespace hal::plugin
