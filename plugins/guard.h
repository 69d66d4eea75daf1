// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <concepts>
#include <type_traits>
#include <utility>

#include "hal/result.h"

namespace hal::plugin {

/// Publishes a failure to the host: one log line, the thread's last error, errno.
void report(const char* call, const Error& error) noexcept;

/// The same for the exception being handled: ENOMEM for std::bad_alloc, else EIO.
void report_exception(const char* call) noexcept;

/// Code of the last failure that `report` published in this thread; 0 before the first one.
[[nodiscard]] int last_error() noexcept;

/// The way out of every exported function: runs `body` (a Result) and returns its value, or
/// `on_failure` after the failure was reported. Nothing is thrown. A Result<> gives T{}.
template <class T, class Body>
[[nodiscard]] T guard_or(const char* call, T on_failure, Body&& body) noexcept {
  try {
    auto result = std::forward<Body>(body)();
    if (result) [[likely]] {
      if constexpr (std::is_void_v<typename decltype(result)::value_type>) {
        return T{};
      } else {
        static_assert(std::same_as<T, typename decltype(result)::value_type>);
        return *std::move(result);
      }
    }
    report(call, result.error());
  } catch (...) {
    report_exception(call);
  }
  return on_failure;
}

/// For integer functions: 0 or the body's value, or -1.
template <class Body>
[[nodiscard]] int guard(const char* call, Body&& body) noexcept {
  return guard_or(call, -1, std::forward<Body>(body));
}

}  // namespace hal::plugin
