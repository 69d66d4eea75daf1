// SPDX-License-Identifier: BSD-3-Clause
// The manager's second half: what it does while the tasks run, and how it ends.
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/descendants.h"
#include "host/session.h"
#include "host/step_manager.h"

namespace hal::host {
namespace {

constexpr std::chrono::seconds kSweepLimit{30};

/// Told twice to kill everything, a manager ends its session too.
constexpr int kKillsBeforeSession = 2;

}  // namespace

void StepManager::loop() {
  while (true) {
    reap_children();
    take_reports();
    take_orders();
    if (everything_ended()) return;
    std::array<pollfd, 3> waiting{
        pollfd{.fd = signals_.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = reports_.open() ? reports_.fd() : -1, .events = POLLIN, .revents = 0},
        pollfd{.fd = orphaned_ ? -1 : control_.fd(), .events = POLLIN, .revents = 0}};
    (void)::poll(waiting.data(), waiting.size(), -1);
    signalfd_siginfo ignored;
    while (::read(signals_.get(), &ignored, sizeof ignored) > 0) {
    }
  }
}

bool StepManager::everything_ended() const {
  return node_.late() ? tasks_.running() == 0 : !session_running_;
}

void StepManager::take_orders() {
  Message message;
  while (!orphaned_) {
    const auto received = control_.receive(message);
    if (received == MessageSocket::Receive::nothing) return;
    if (received == MessageSocket::Receive::closed) {
      orphaned_ = true;
      kill_everything();
    } else if (message.kind == MessageKind::kill_all) {
      kill_everything();
    } else if (message.kind == MessageKind::signal) {
      if (const auto signal = message.one<std::int32_t>()) signal_tasks(*signal);
    }
  }
}

void StepManager::take_reports() {
  Message message;
  while (reports_.open()) {
    const auto received = reports_.receive(message);
    if (received == MessageSocket::Receive::nothing) return;
    if (received == MessageSocket::Receive::closed) {
      reports_.close();
    } else if (message.kind == MessageKind::session_ready && !node_.late()) {
      ready_.session_pid = session_;
    } else if (message.kind == MessageKind::tasks && !node_.late()) {
      accept_births(message);
    } else if (message.kind == MessageKind::ended && !node_.late()) {
      std::vector<TaskEnd> good;
      for (const auto& end : message.list<TaskEnd>()) {
        if (end.local_id >= births_.size() || births_[end.local_id].pid != end.pid) continue;
        task_ended_[end.local_id] = true;
        good.push_back(end);
      }
      control_.send_list(MessageKind::ended, std::span<const TaskEnd>(good));
    } else if (message.kind == MessageKind::problem) {
      if (const auto problem = message.one<Problem>()) {
        control_.send(MessageKind::problem, *problem);
      }
    }
  }
}

void StepManager::reap_children() {
  std::vector<TaskEnd> ended;
  while (auto child = reap_child()) {
    if (child->pid == session_) {
      session_running_ = false;
      session_status_ = child->wait_status;
      take_reports();
    } else if (auto end = tasks_.note_end(child->pid, child->wait_status, child->usage)) {
      account_task_end(node_, child->pid, child->wait_status, child->usage);
      ended.push_back(*end);
    } else {
      note_orphan(child->pid, child->wait_status);
    }
  }
  if (ended.empty()) return;
  take_reports();  // why a task failed comes before that it ended
  control_.send_list(MessageKind::ended, std::span<const TaskEnd>(ended));
}

/// A process that was not ours at first: a task of a session that died, or one of a task's.
void StepManager::note_orphan(pid_t pid, int status) {
  for (std::uint32_t local = 0; local < births_.size(); ++local) {
    if (births_[local].pid != pid || node_.late() || task_ended_[local]) continue;
    task_ended_[local] = true;
    const TaskEnd end{
        .local_id = local, .pid = pid, .wait_status = status, .end_ns = monotonic_ns()};
    control_.send_list(MessageKind::ended, std::span(&end, 1));
  }
}

void StepManager::signal_tasks(int signal) {
  if (container_id_ == 0 || signal <= 0 || signal >= NSIG) return;
  (void)traced(node_.plugins, "slurm_container_plugin_signal", node_.plugins.proctrack->signal,
               container_id_, signal);
}

void StepManager::kill_everything() {
  ++kills_;
  if (container_id_ != 0) signal_tasks(SIGKILL);
  kill_descendants(kills_ < kKillsBeforeSession ? session_ : 0, helpers_);
}

void StepManager::leave_interconnect() {
  if (!opened_) return;
  if (traced(node_.plugins, "switch_p_job_fini", node_.plugins.interconnect->job_fini,
             node_.credential) < 0) {
    const int error = errno;
    report(Stage::fini, node_.switch_failure("job_fini", error), error);
  }
}

void StepManager::finish() {
  go_write_.reset();
  const bool session_died = session_ != 0 && WIFSIGNALED(session_status_);
  if (session_died) {
    report(Stage::fork_session,
           "the session (process " + std::to_string(session_) + ") was ended by signal " +
               std::to_string(WTERMSIG(session_status_)),
           EIO);
  } else if (session_ != 0 && session_status_ != 0) {
    failed_ = true;
  }
  leave_interconnect();
  end_tracked(node_, container_id_);
  NodeFinished finished{.session_status = session_status_};
  const auto swept = sweep_descendants(helpers_, kSweepLimit,
                                       [&](pid_t pid, int status) { note_orphan(pid, status); });
  finished.escaped = swept.found;
  finished.survivors = swept.survivors;
  const auto failure = release_node(node_, {.container_id = container_id_,
                                            .process_group = node_.late() ? ::getpid() : session_,
                                            .session_status = session_status_,
                                            .postfini = postfini_due_});
  if (!failure.empty()) report(Stage::postfini, failure, EIO);
  finished.failed = failed_ ? 1 : 0;
  control_.send(MessageKind::finished, finished);
}

int recover_node(NodeStep& node, MessageSocket& control, const NodeRelease& release) {
  (void)::setsid();
  node.enter(node.late() ? ProcessRole::step_manager : ProcessRole::job_manager);
  node.make_records();
  node.proctrack_record().set_container_id(release.container_id);
  NodeFinished finished{.failed = 1};
  std::string failure;
  if (auto unpacked = node.unpack_credential(); !unpacked) failure = unpacked.error().detail;
  end_tracked(node, release.container_id);
  const auto released = release_node(node, release);
  if (failure.empty()) failure = released;
  if (!failure.empty()) {
    Problem problem{.stage = Stage::postfini, .error_number = EIO};
    problem.set_text(failure);
    control.send(MessageKind::problem, problem);
  }
  control.send(MessageKind::finished, finished);
  return failure.empty() ? 0 : 1;
}

}  // namespace hal::host
