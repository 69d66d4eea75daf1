// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include "host/node_step.h"
#include "host/step_messages.h"
#include "host/task.h"

namespace hal::host {

/// Exit status of a session manager, by what failed. Source: switch call order 4.1.
enum class SessionExit : int {
  done = 0,
  interconnect = 1,  ///< job_init or job_fini
  become_user = 2,
  set_session = 3,
  change_directory = 4,
  limits = 5,
  fork_tasks = 6,
};

/// The session manager of the three-process shape: opens the interconnect as root, becomes the user
/// for good, forks the tasks and waits for them. Tells its manager about each task; ends the tasks
/// when the manager goes away.
class Session {
 public:
  /// `go_read` and `go_write` are the pipe that holds the tasks; the write end is the manager's and
  /// is closed here.
  Session(NodeStep& node, MessageSocket& report, int go_read, int go_write)
      : node_(node), report_(report), go_read_(go_read), go_write_(go_write) {}

  [[nodiscard]] SessionExit run();

 private:
  [[nodiscard]] SessionExit start();
  [[nodiscard]] SessionExit refuse(SessionExit status, Stage stage, const std::string& text,
                                   int error);
  void wait_for_tasks();
  void reap();
  [[nodiscard]] SessionExit leave();

  NodeStep& node_;
  MessageSocket& report_;
  int go_read_;
  int go_write_;
  TaskSet tasks_;
  bool manager_gone_ = false;
};

/// Opens the interconnect for the step's owner. @return kind of errno.
[[nodiscard]] Result<> open_interconnect(NodeStep& node);

/// Tells accounting of a task's end.
void account_task_end(NodeStep& node, pid_t pid, int wait_status, rusage& usage);

}  // namespace hal::host
