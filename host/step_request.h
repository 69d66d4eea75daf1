// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

#include "hal/step_layout.h"
#include "host/identity.h"

namespace hal::host {

/// How many processes manage a node's part of a step. Source: switch call order 3.1 and 3.2.
enum class StepShape : std::uint8_t {
  v0,    ///< job manager, session manager, tasks
  late,  ///< one step manager, tasks
};

[[nodiscard]] constexpr const char* to_string(StepShape shape) noexcept {
  return shape == StepShape::late ? "late" : "v0";
}

/// A job step as somebody asked for it; everything is checked and absolute.
struct StepRequest {
  StepLayout layout;
  std::vector<std::string> node_names;  ///< of `layout`, expanded once
  std::vector<std::string> command;     ///< program and arguments
  std::vector<std::string> environment;
  std::string working_directory;
  Identity owner;
  StepShape shape = StepShape::v0;

  // Standard streams: "" and "all", "none", a rank, or a file name pattern; see io_plan.h.
  std::string input;
  std::string output;
  std::string error;  ///< empty: as output
  bool label = false;

  std::optional<std::chrono::seconds> time_limit;
  std::chrono::seconds kill_wait{30};
  bool kill_on_bad_exit = false;
  bool overcommit = false;
  bool quiet = false;
  int verbose = 0;
};

}  // namespace hal::host
