// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

#include "host/io_plan.h"
#include "host/node_step.h"
#include "host/step_messages.h"
#include "host/task.h"

namespace hal::host {

/// The manager of a step on one node, as root: prepares the interconnect, has the tasks made (by a
/// session of its own in the three-process shape, by itself in the late one), puts them in the
/// tracker, releases them, and gives everything back. Its orders come over `control`; when that
/// closes, the step ends.
class StepManager {
 public:
  StepManager(NodeStep& node, const IoPlan& plan, MessageSocket control)
      : node_(node), plan_(plan), control_(std::move(control)) {}

  /// Body of the manager process; returns its exit status.
  [[nodiscard]] int run();

 private:
  // Setting up, in the order of the document.
  [[nodiscard]] bool prepare();
  [[nodiscard]] bool make_tracker();
  [[nodiscard]] bool set_up_streams();
  [[nodiscard]] bool start_session();
  [[nodiscard]] bool start_tasks();
  [[nodiscard]] bool make_go_pipe();
  void accept_births(const Message& message);
  void note_helpers();
  void track_and_release();
  [[nodiscard]] bool track();

  // While it runs.
  void loop();
  [[nodiscard]] bool everything_ended() const;
  void take_orders();
  void take_reports();
  void reap_children();
  void signal_tasks(int signal);
  void kill_everything();

  // The end.
  void finish();
  void leave_interconnect();
  void note_orphan(pid_t pid, int status);
  void report(Stage stage, const std::string& text, int error);

  NodeStep& node_;
  const IoPlan& plan_;
  MessageSocket control_;
  MessageSocket reports_;    ///< our end: from session and tasks
  MessageSocket reporting_;  ///< late shape: the tasks' end
  UniqueFd signals_;
  UniqueFd go_read_;
  UniqueFd go_write_;

  bool postfini_due_ = false;
  bool opened_ = false;  ///< late shape: job_init succeeded here
  bool failed_ = false;
  bool released_ = false;
  bool orphaned_ = false;  ///< the controller is gone
  int kills_ = 0;
  std::uint64_t container_id_ = 0;

  pid_t session_ = 0;
  bool session_running_ = false;
  int session_status_ = -1;
  SessionReady ready_{};
  std::vector<TaskBirth> births_;
  std::vector<pid_t> helpers_;
  std::vector<bool> task_ended_;
  TaskSet tasks_;  ///< late shape
};

/// Body of a process that gives back what a dead manager held on its node.
[[nodiscard]] int recover_node(NodeStep& node, MessageSocket& control, const NodeRelease& release);

}  // namespace hal::host
