// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>

#include "hal/result.h"

namespace hal::plugin {

/// A page that reads as zeros in a child after fork, so that the child finds no trace of locks and
/// objects that other threads of its parent were using. The kernel does it (MADV_WIPEONFORK, Linux
/// 4.14), without a fork handler that would outlive the plugin; older kernels cost one getpid.
class ForkWipedPage {
 public:
  ForkWipedPage() = default;
  ForkWipedPage(const ForkWipedPage&) = delete;
  ForkWipedPage& operator=(const ForkWipedPage&) = delete;
  ~ForkWipedPage();

  /// Maps the page. @return exhausted: no memory.
  [[nodiscard]] Result<> map();

  /// The page of this process, after `map`.
  [[nodiscard]] void* get() noexcept {
    if (!kernel_wipes_) [[unlikely]]
      wipe_if_forked();
    return page_;
  }

  static constexpr std::size_t kSize = 4096;

 private:
  void wipe_if_forked() noexcept;

  void* page_ = nullptr;
  bool kernel_wipes_ = true;
  int owner_ = 0;
};

/// A T of this process: a child after fork sees a new, zero-filled one, and what the parent's
/// pointed to is left alone there. T must mean "empty" when it is all zeros.
template <class T>
class ForkLocal {
 public:
  static_assert(std::is_trivially_destructible_v<T>);
  static_assert(sizeof(T) <= ForkWipedPage::kSize && alignof(T) <= ForkWipedPage::kSize);

  [[nodiscard]] Result<> map() {
    auto mapped = page_.map();
    if (mapped) ::new (page_.get()) T();
    return mapped;
  }

  [[nodiscard]] T& get() noexcept { return *static_cast<T*>(page_.get()); }

 private:
  ForkWipedPage page_;
};

}  // namespace hal::plugin
