// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hal/result.h"
#include "hal/types.h"
#include "hal/vendor_library.h"
#include "host/step_request.h"

namespace hal::host {

/// Where one standard stream of the tasks goes to or comes from, as srun's -i, -o and -e say it.
struct StreamPlan {
  enum class Kind : std::uint8_t {
    all,       ///< the launcher's own stream, for every task
    none,      ///< /dev/null
    one_task,  ///< the launcher's own stream for `rank`, /dev/null for the others
    file,
  };
  Kind kind = Kind::all;
  std::uint32_t rank = 0;
  std::string pattern;    ///< absolute
  bool per_task = false;  ///< the pattern differs by task
  bool per_node = false;  ///< the pattern differs by node
};

/// Reads "", "all", "none", a rank, or a file name pattern; a relative name is taken from
/// `directory`.
/// @return invalid_argument: no such rank; a pattern with an unknown conversion.
[[nodiscard]] Result<StreamPlan> parse_stream(std::string_view option, std::string_view text,
                                              std::uint32_t task_count, std::string_view directory);

/// What the conversions of a file name pattern stand for: %j job, %J job.step, %s step, %n node
/// index, %N node name, %t rank, %u user, %% a percent sign; a number pads with zeros, as in %4t.
struct PatternFacts {
  JobId job{};
  StepId step{};
  std::uint32_t node_index = 0;
  std::uint32_t rank = 0;
  std::string_view node_name;
  std::string_view user;
};
[[nodiscard]] std::string expand_pattern(std::string_view pattern, const PatternFacts& facts);

/// The three streams of a step.
struct IoPlan {
  std::array<StreamPlan, 3> streams;  ///< input, output, error
  bool error_joins_output = false;    ///< one destination for both

  [[nodiscard]] static Result<IoPlan> make(const StepRequest& request);
};

/// Descriptors that become 0, 1 and 2 of one task.
using TaskStdio = std::array<int, 3>;
inline constexpr int kInherit = -1;     ///< the launcher's own
inline constexpr int kOpenOnNode = -2;  ///< a file that the node's manager opens
inline constexpr int kNullDevice = -3;

/// The streams of the tasks of one node and the descriptors that they own.
struct NodeStdio {
  std::vector<TaskStdio> tasks;  ///< by local id
  std::vector<UniqueFd> owned;
};

/// The manager's part of setting the streams up: opens what the plan leaves to the node, with the
/// rights of the step's owner.
/// @return kind of errno: names the file.
[[nodiscard]] Result<> open_node_files(const StepRequest& request, const IoPlan& plan, JobId job,
                                       StepId step, std::uint32_t node_index, NodeStdio& stdio);

/// Opens one file of a plan with the present rights.
[[nodiscard]] Result<UniqueFd> open_stream_file(int stream, const std::string& path);

}  // namespace hal::host
