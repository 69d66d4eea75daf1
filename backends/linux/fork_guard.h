// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <mutex>

namespace hal::linux_host {

/// A mutex that is free, and guards whole data, in a child after fork(): the fork waits until no
/// other thread holds it. For short sections only: never held across a wait, a callback or a fork
/// of the holder's own.
class ForkSafeMutex {
 public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex&) = delete;
  ForkSafeMutex& operator=(const ForkSafeMutex&) = delete;

  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

}  // namespace hal::linux_host
