// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "hal/result.h"
#include "host/input_pump.h"
#include "host/io_plan.h"
#include "host/output_sink.h"
#include "host/poller.h"

namespace hal::host {

/// The launcher's side of the tasks' standard streams. A stream that needs no label and goes where
/// the launcher's own goes is passed on as it is; everything else runs through here.
class StepIo {
 public:
  StepIo(Poller& poller, const StepRequest& request, IoPlan plan, JobId job, StepId step);
  StepIo(const StepIo&) = delete;
  StepIo& operator=(const StepIo&) = delete;
  ~StepIo();

  /// Opens what all nodes share, with the rights of the step's owner.
  /// @return kind of errno: names the file.
  [[nodiscard]] Result<> open_shared();

  /// The task sides for one node; to be destroyed after the fork of its manager.
  /// @return exhausted: no more descriptors.
  [[nodiscard]] Result<NodeStdio> prepare_node(std::uint32_t node_index);

  /// Everybody is forked: input may flow.
  void start();

  void task_ended(std::uint32_t rank);

  [[nodiscard]] bool wants_turn() const noexcept { return pump_ && pump_->wants_turn(); }
  void take_turn() { pump_->ready(0); }

  /// After each round of the loop: writers that were held back go on where there is room again.
  void resume_streams();

  /// All processes are gone: passes on what still is in the pipes and ends the last lines.
  void finish();

  /// In a child: drops the launcher's ends.
  void close_in_child() noexcept;

  [[nodiscard]] const IoPlan& plan() const noexcept { return plan_; }

  /// A line longer than this is cut into labelled pieces.
  static constexpr std::size_t kLongestLine = std::size_t{16} << 20;

 private:
  struct Stream;

  [[nodiscard]] Result<int> output_fd(std::size_t stream, std::uint32_t node, std::uint32_t rank,
                                      NodeStdio& stdio);
  [[nodiscard]] Result<int> labelled(std::size_t stream, std::uint32_t node, std::uint32_t rank,
                                     NodeStdio& stdio);
  [[nodiscard]] Result<OutputSink*> sink_for(std::size_t stream, std::uint32_t node,
                                             std::uint32_t rank);
  [[nodiscard]] Result<int> input_fd(std::uint32_t rank, NodeStdio& stdio);

  Poller& poller_;
  const StepRequest& request_;
  IoPlan plan_;
  JobId job_;
  StepId step_;
  int label_width_ = 1;
  bool held_back_ = false;          ///< some stream waits for its sink
  std::array<UniqueFd, 3> shared_;  ///< files of an unlabelled step that every node uses
  std::map<std::string, std::unique_ptr<OutputSink>> sinks_;
  std::unique_ptr<InputPump> pump_;
  std::vector<std::unique_ptr<Stream>> streams_;
};

}  // namespace hal::host
