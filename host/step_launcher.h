// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "hal/result.h"
#include "host/controller.h"
#include "host/node_step.h"
#include "host/notices.h"
#include "host/poller.h"
#include "host/signals.h"
#include "host/step_io.h"
#include "host/step_outcome.h"

namespace hal::host {

/// Plays launcher and node daemons: forks a manager per node, passes streams and signals on, keeps
/// the time limit, takes over what a dead manager leaves, and makes sure that nobody survives.
class StepLauncher {
 public:
  StepLauncher(const StepRequest& request, PluginSet& plugins, Controller& controller, Say say);
  StepLauncher(const StepLauncher&) = delete;
  StepLauncher& operator=(const StepLauncher&) = delete;
  ~StepLauncher();

  /// The whole step. @return a failure only when nothing was started.
  [[nodiscard]] Result<StepOutcome> run(IoPlan plan);

 private:
  using SteadyClock = std::chrono::steady_clock;
  struct Node;

  // Starting.
  [[nodiscard]] Result<> set_up(IoPlan plan);
  void raise_file_limit();
  void start_node(std::uint32_t index);
  [[nodiscard]] pid_t fork_node(Node& node, NodeStep& step, const NodeRelease* release);
  void leave_launcher_in_child(const Node& keep);

  // Messages of a node.
  void take_messages(Node& node);
  void take_births(Node& node, const Message& message);
  void take_ends(Node& node, const Message& message);
  void take_problem(Node& node, const Message& message);
  void node_closed(Node& node);
  void take_over(Node& node);
  void start_recovery(Node& node);
  void node_done(Node& node);

  // Signals and time.
  void on_signal(int signal);
  void interrupt();
  void report_status();
  void send_signal(int signal);
  void begin_termination();
  void kill_all();
  void check_time();
  [[nodiscard]] int next_timeout() const;

  void wait_for_nodes();
  void wait_for_helpers();
  void finish();

  const StepRequest& request_;
  PluginSet& plugins_;
  Controller& controller_;
  Say say_;
  LaunchState launch_;
  std::optional<Poller> poller_;
  std::unique_ptr<SignalSource> signals_;
  std::unique_ptr<StepIo> io_;
  std::vector<std::unique_ptr<Node>> nodes_;
  StepOutcome outcome_;
  Notices notices_;
  std::size_t live_nodes_ = 0;
  bool terminating_ = false;
  int kills_ = 0;
  std::optional<SteadyClock::time_point> time_limit_;
  std::optional<SteadyClock::time_point> kill_at_;
  std::optional<SteadyClock::time_point> flush_at_;
  std::optional<SteadyClock::time_point> interrupted_;
};

}  // namespace hal::host
