// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace hal {

enum class LogLevel { error, warning, info, verbose, debug };

/// Time as backends see it, so that tests can replace it and no test has to sleep.
class Clock {
 public:
  using TimePoint = std::chrono::steady_clock::time_point;

  virtual ~Clock() = default;

  [[nodiscard]] virtual TimePoint now() = 0;

  /// Returns after `span`, or earlier when a signal handler ran.
  virtual void wait(std::chrono::milliseconds span) = 0;
};

/// The monotonic clock of the kernel. One object per process, thread safe, never destroyed.
[[nodiscard]] Clock& system_clock() noexcept;

/// What the program that opened the plugin lends to a backend. Thread safe; outlives every role.
class Host {
 public:
  virtual ~Host() = default;

  /// One line, without a trailing newline and without secrets.
  virtual void log(LogLevel level, std::string_view message) = 0;

  /// Name of the node on which the caller runs, as the resource manager spells it. A daemon that
  /// plays several nodes on one box answers the one whose process asks.
  [[nodiscard]] virtual std::string node_name() = 0;

  [[nodiscard]] virtual Clock& clock() = 0;
};

}  // namespace hal
