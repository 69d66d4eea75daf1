// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <chrono>

#include "hal/host.h"
#include "hal/result.h"

namespace hal {

/// How long, and how patiently, to wait for something that answers `busy`.
struct RetryLimit {
  std::chrono::milliseconds total{30'000};
  std::chrono::milliseconds first_pause{1};
  std::chrono::milliseconds longest_pause{250};
};

/// Calls `attempt` until it answers anything but `busy`, with pauses that double, and at least
/// once.
/// @return the last answer; after `limit.total` the last `busy` turned into `timed_out` with its
/// code and detail kept.
template <class Attempt>
[[nodiscard]] auto retry_while_busy(const RetryLimit& limit, Clock& clock, Attempt&& attempt)
    -> decltype(attempt()) {
  const auto deadline = clock.now() + limit.total;
  auto pause = limit.first_pause;
  while (true) {
    auto result = attempt();
    if (result || result.error().kind != Errc::busy) return result;
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - clock.now());
    if (left.count() <= 0) {
      result.error().kind = Errc::timed_out;
      return result;
    }
    clock.wait(std::min(pause, left));
    pause = std::min(pause * 2, limit.longest_pause);
  }
}

}  // namespace hal
