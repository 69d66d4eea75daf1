// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>

#include "hal/result.h"
#include "host/classic_records.h"
#include "host/io_plan.h"
#include "host/plugin_set.h"
#include "host/step_messages.h"
#include "host/step_request.h"

namespace hal::host {

/// Calls a plugin function and records it.
template <class R, class... Params, class... Args>
R traced(PluginSet& plugins, const char* name, R (*function)(Params...), Args... args) {
  return plugins.trace->call(name, [&] { return function(args...); });
}

/// What the launcher changed for itself and each task gets back.
struct LaunchState {
  sigset_t signal_mask{};
  std::optional<rlimit> open_files;
};

/// One node's part of a step, as each process of that node sees it. Made before the fork of the
/// node's first process; every process then works on its own copy.
class NodeStep {
 public:
  NodeStep(const StepRequest& request, PluginSet& plugins, JobId job, StepId step,
           std::uint32_t index, std::span<const std::byte> packed, const LaunchState& launch);

  const StepRequest& request;
  PluginSet& plugins;
  const JobId job;
  const StepId step;
  const std::uint32_t index;  ///< of the node in the step
  const LaunchState& launch;
  NodeStdio stdio;
  void* credential = nullptr;  ///< the switch plugin's handle, of this process

  [[nodiscard]] const std::string& name() const { return request.node_names[index]; }
  [[nodiscard]] std::uint32_t task_count() const noexcept { return task_count_; }
  /// Ranks of this node's tasks: "0,1,2".
  [[nodiscard]] const std::string& ranks_text() const noexcept { return ranks_; }
  [[nodiscard]] bool late() const noexcept { return request.shape == StepShape::late; }

  /// Becomes a process of this node: its name for plugins and vendors, its role in the trace.
  void enter(ProcessRole role, std::int32_t task = -1);

  /// The credential as it came over the wire. @return kind of errno.
  [[nodiscard]] Result<> unpack_credential();
  void free_credential();

  [[nodiscard]] StepRecord& proctrack_record() { return *proctrack_record_; }
  [[nodiscard]] StepRecord& jobacct_record() { return *jobacct_record_; }

  /// Makes the step's records; the caller is the job manager.
  void make_records();

  /// An error for people: "<call>: <reason of errno>".
  [[nodiscard]] std::string switch_failure(std::string_view call, int error_number) const;

 private:
  std::uint32_t task_count_;
  std::span<const std::byte> packed_;
  std::string ranks_;
  std::optional<StepRecord> proctrack_record_;
  std::optional<StepRecord> jobacct_record_;
};

/// What is to be given back on a node.
struct NodeRelease {
  std::uint64_t container_id = 0;
  pid_t process_group = 0;  ///< as postfini gets it
  int session_status = -1;
  bool postfini = true;
};

/// Ends what the tracker still holds: kill, then wait until it is empty.
void end_tracked(NodeStep& node, std::uint64_t container_id);

/// Gives back everything else that the step holds on the node, as root, tasks gone: postfini, then
/// cores, tracker, job container and accounting. Goes on after a failure.
/// @return the text of the first failure that leaves something behind, or empty.
[[nodiscard]] std::string release_node(NodeStep& node, const NodeRelease& release);

}  // namespace hal::host
