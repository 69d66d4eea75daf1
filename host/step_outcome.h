// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "hal/types.h"
#include "host/step_request.h"

namespace hal::host {

/// How one task ended.
struct TaskOutcome {
  std::uint32_t node_index = 0;
  pid_t pid = 0;         ///< 0: never started
  bool started = false;  ///< was released
  bool ended = false;
  int wait_status = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;

  /// As a shell gives it: the status, or 128 and the signal.
  [[nodiscard]] int exit_code() const noexcept;
  [[nodiscard]] double seconds() const noexcept;
};

/// How a step ended.
struct StepOutcome {
  JobId job{};
  StepId step{};
  std::vector<TaskOutcome> tasks;  ///< by rank
  std::uint32_t escaped = 0;       ///< processes that the tracker had lost and the sweep ended
  std::uint32_t survivors = 0;     ///< processes that could not be ended
  bool failed = false;             ///< some part did not run as it should
  bool timed_out = false;
  double seconds = 0;

  /// The highest of the tasks; at least 1 when a part failed, at least 124 after the time limit.
  [[nodiscard]] int exit_code() const noexcept;
};

/// Table and closing lines of -v.
[[nodiscard]] std::string outcome_as_text(const StepOutcome& outcome, const StepRequest& request,
                                          const std::vector<std::string>& plugins);

/// The same as one JSON object on one line, without a newline.
[[nodiscard]] std::string outcome_as_json(const StepOutcome& outcome, const StepRequest& request,
                                          const std::vector<std::string>& plugins);

}  // namespace hal::host
