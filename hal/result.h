// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <version>

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202211L
#include <expected>
#else
#include <tl/expected.hpp>
#endif

namespace hal {

#if defined(__cpp_lib_expected) && __cpp_lib_expected >= 202211L
namespace expected_ns = std;
#else
namespace expected_ns = tl;
#endif

/// What a caller can do about a failure; the number in Error::code says what exactly happened.
enum class Errc {
  invalid_argument,  ///< the caller's input is wrong: change it
  not_found,         ///< the named object does not exist (any more)
  busy,              ///< in use now: the same call may succeed later
  no_permission,     ///< needs another user or a privilege
  unsupported,       ///< this backend does not offer the operation
  no_device,         ///< vendor library, kernel module or adapter is absent
  exhausted,         ///< no more of a bounded resource
  corrupt,           ///< bytes from outside do not decode
  timed_out,         ///< the deadline passed first
  vendor,            ///< the vendor refused for a reason of its own
  internal,          ///< a defect of ours, or memory is gone
};

/// Stable lower-case name of `kind`, for messages and JSON.
[[nodiscard]] std::string_view to_string(Errc kind) noexcept;

/// A failure on its way up. `code` is what `errno` will hold when a plugin function returns -1: an
/// errno value or the plugin's own 3000..3099, never 0. `detail` names the call, the object, the
/// reason and, where there is one, the cure; it never holds a secret.
struct Error {
  Errc kind;
  int code;
  std::string detail;
};

/// A value or the reason why there is none. Every function that returns one is [[nodiscard]].
template <class T = void>
using Result = expected_ns::expected<T, Error>;

using Failure = expected_ns::unexpected<Error>;

/// Makes a failed Result of any type. A `code` of 0 is replaced by EINVAL or EIO to keep the rule.
[[nodiscard]] Failure fail(Errc kind, int code, std::string detail);

/// Makes a failed Result from an errno value: `kind` follows from it, `detail` becomes
/// "<what>: <text of errno>".
[[nodiscard]] Failure fail_errno(int error_number, std::string_view what);

/// Passes an Error on: `return propagate(result)` from a function with another value type.
template <class T>
[[nodiscard]] Failure propagate(Result<T>&& result) {
  return Failure(std::move(result).error());
}

/// The kind that fits an errno value (ENOENT -> not_found, EACCES -> no_permission, ...).
[[nodiscard]] Errc kind_of_errno(int error_number) noexcept;

/// Prepends "<context>: " to the detail of a failed result; a success passes unchanged.
template <class T>
[[nodiscard]] Result<T> with_context(Result<T>&& result, std::string_view context) {
  if (!result) result.error().detail.insert(0, std::string(context) + ": ");
  return std::move(result);
}

}  // namespace hal
