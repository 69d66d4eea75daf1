// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/fork_guard.h"

#include <algorithm>
#include <pthread.h>
#include <vector>

namespace hal::linux_host {
namespace {

/// Every ForkSafeMutex of this library. The C library drops the handlers when it unloads us.
class Registry {
 public:
  static Registry& get() {
    static Registry registry;
    return registry;
  }

  void add(ForkSafeMutex* mutex) {
    const std::lock_guard lock(mutex_);
    members_.push_back(mutex);
  }

  void remove(ForkSafeMutex* mutex) {
    const std::lock_guard lock(mutex_);
    members_.erase(std::remove(members_.begin(), members_.end(), mutex), members_.end());
  }

 private:
  Registry() { ::pthread_atfork(before_fork, after_fork, after_fork); }

  static void before_fork() {
    auto& registry = get();
    registry.mutex_.lock();
    for (auto* mutex : registry.members_) mutex->lock();
  }

  static void after_fork() {
    auto& registry = get();
    std::for_each(registry.members_.rbegin(), registry.members_.rend(),
                  [](auto* mutex) { mutex->unlock(); });
    registry.mutex_.unlock();
  }

  std::mutex mutex_;
  std::vector<ForkSafeMutex*> members_;
};

}  // namespace

ForkSafeMutex::ForkSafeMutex() { Registry::get().add(this); }
ForkSafeMutex::~ForkSafeMutex() { Registry::get().remove(this); }

}  // namespace hal::linux_host
