// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <unistd.h>

#include "hal/result.h"

namespace hal::plugin {

/// An object made on first use, exactly once even if many threads ask together. No lock: a fork
/// while a thread makes the object leaves the child free to make its own. All zero bytes are a
/// valid empty Lazy. Never destroys by itself: the owner calls `reset`.
template <class T>
class Lazy {
 public:
  constexpr Lazy() noexcept = default;
  Lazy(const Lazy&) = delete;
  Lazy& operator=(const Lazy&) = delete;

  /// The object, or null while there is none. One load.
  [[nodiscard]] T* peek() const noexcept {
    const std::uintptr_t state = state_.load(std::memory_order_acquire);
    return (state & kMaking) != 0 ? nullptr : object_of(state);
  }

  /// The object; made by `make` (a Result<std::unique_ptr<T>>) when there is none. After a failure
  /// the next caller tries again.
  template <class Make>
  [[nodiscard]] Result<T*> get(Make&& make) {
    if (T* object = peek(); object != nullptr) [[likely]]
      return object;
    return make_or_wait(std::forward<Make>(make));
  }

  /// Gives the object up to the caller: empty afterwards.
  [[nodiscard]] std::unique_ptr<T> take() noexcept {
    const std::uintptr_t state = state_.exchange(0, std::memory_order_acq_rel);
    return std::unique_ptr<T>((state & kMaking) == 0 ? object_of(state) : nullptr);
  }

  /// Destroys the object; nobody may be using it.
  void reset() noexcept { (void)take(); }

 private:
  static constexpr std::uintptr_t kMaking = 1;

  static T* object_of(std::uintptr_t state) noexcept {
    // NOLINTNEXTLINE(performance-no-int-to-ptr): one word tells the object from its maker
    return reinterpret_cast<T*>(state);
  }

  template <class Make>
  Result<T*> make_or_wait(Make&& make) {
    static_assert(alignof(T) > 1);
    const std::uintptr_t mine = (static_cast<std::uintptr_t>(::getpid()) << 1) | kMaking;
    std::uintptr_t seen = state_.load(std::memory_order_acquire);
    while (true) {
      if (seen == mine) {  // another thread of this process is making it
        state_.wait(seen, std::memory_order_acquire);
        seen = state_.load(std::memory_order_acquire);
      } else if (seen != 0 && (seen & kMaking) == 0) {
        return object_of(seen);
      } else if (state_.compare_exchange_weak(seen, mine, std::memory_order_acq_rel)) {
        return make_now(make);  // empty, or its maker stayed behind in the parent process
      }
    }
  }

  template <class Make>
  Result<T*> make_now(Make& make) {
    Settle settle{state_};
    Result<std::unique_ptr<T>> made = make();
    if (!made) return propagate(std::move(made));
    T* const object = made->release();
    settle.value = reinterpret_cast<std::uintptr_t>(object);
    return object;
  }

  struct Settle {  // also on an exception: a waiter must never wait for nobody
    std::atomic<std::uintptr_t>& state;
    std::uintptr_t value = 0;
    ~Settle() {
      state.store(value, std::memory_order_release);
      state.notify_all();
    }
  };

  std::atomic<std::uintptr_t> state_{0};
};

}  // namespace hal::plugin
