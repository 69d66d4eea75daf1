// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "backends/elan/capability.h"

namespace hal::elan {

/// User keys from the kernel's random generator, fetched a page at a time. The page is wiped in a
/// forked child, so that two processes never hand out the same key, and each key is wiped in it as
/// it is taken. Not thread safe: its owner locks.
class KeyPool {
 public:
  KeyPool();
  ~KeyPool();
  KeyPool(const KeyPool&) = delete;
  KeyPool& operator=(const KeyPool&) = delete;

  /// Moves the next key to `key`. Aborts only if the kernel has no random generator.
  void take(std::span<std::byte, kKeySize> key);

 private:
  struct Page;
  void refill();

  Page* page_ = nullptr;  ///< null: no page that a fork wipes, each key is fetched alone
};

}  // namespace hal::elan
