// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>

#include "hal/result.h"

namespace hal::plugin {

/// A value behind an opaque pointer that the host keeps: checked each time it comes back, so that a
/// stale or foreign pointer is an error and not a crash. T has `kMagic` and `kWhat`. The host may
/// hold null where it never got an object; every check lets null pass as "none".
template <class T>
class Handle {
 public:
  template <class... Args>
  [[nodiscard]] static Handle* make(Args&&... args) {
    return std::make_unique<Handle>(std::forward<Args>(args)...).release();
  }

  template <class... Args>
  explicit Handle(Args&&... args) : value{std::forward<Args>(args)...} {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { static_cast<volatile std::uint32_t&>(magic_) = kFreed; }

  /// The object behind `pointer`; null for null.
  /// @return invalid_argument (EINVAL): not one of ours, freed, or of another version.
  [[nodiscard]] static Result<Handle*> from(void* pointer) {
    auto* handle = static_cast<Handle*>(pointer);
    if (handle == nullptr || handle->intact()) [[likely]]
      return handle;
    return fail(Errc::invalid_argument, EINVAL,
                std::string("not a live ") + T::kWhat +
                    ": the host passed a pointer that this plugin did not make or has freed");
  }

  static void destroy(Handle* handle) noexcept { std::unique_ptr<Handle>{handle}.reset(); }

  /// True if the memory at `pointer` starts as a live handle does. Reads eight bytes there.
  [[nodiscard]] static bool looks_like(const void* pointer) noexcept {
    return static_cast<const Handle*>(pointer)->intact();
  }

  /// Code of the last failure of a call on this object; 0 before the first.
  [[nodiscard]] int last_error() const noexcept {
    return last_error_.load(std::memory_order_relaxed);
  }
  void set_last_error(int code) noexcept { last_error_.store(code, std::memory_order_relaxed); }

 private:
  static constexpr std::uint32_t kVersion = 1;
  static constexpr std::uint32_t kFreed = 0xdeadc0de;

  [[nodiscard]] bool intact() const noexcept { return magic_ == T::kMagic && version_ == kVersion; }

  std::uint32_t magic_ = T::kMagic;
  std::uint32_t version_ = kVersion;
  std::atomic<int> last_error_{0};

 public:
  T value;
};

}  // namespace hal::plugin
