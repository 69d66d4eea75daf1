// SPDX-License-Identifier: BSD-3-Clause
// The launcher's conversation with the managers of its nodes.
#include <cerrno>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "host/descendants.h"
#include "host/step_launcher.h"
#include "host/step_manager.h"
#include "host/step_node.h"
#include "host/task.h"

namespace hal::host {
namespace {

constexpr auto kSweepLimit = std::chrono::seconds(30);
constexpr auto kNoticeDelay = std::chrono::milliseconds(100);

int reap(pid_t pid) {
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string end_text(int status) {
  if (WIFSIGNALED(status)) {
    return "was ended by signal " + std::to_string(WTERMSIG(status));
  }
  return "ended with status " + std::to_string(WEXITSTATUS(status));
}

}  // namespace

void StepLauncher::take_messages(Node& node) {
  Message message;
  while (!node.done) {
    const auto received = node.socket.receive(message);
    if (received == MessageSocket::Receive::nothing) return;
    if (received == MessageSocket::Receive::closed) return node_closed(node);
    switch (message.kind) {
      case MessageKind::session_ready:
        if (const auto session = message.one<SessionReady>()) node.session = *session;
        break;
      case MessageKind::tasks:
        take_births(node, message);
        break;
      case MessageKind::helpers:
        node.helpers = message.list<TaskBirth>();
        break;
      case MessageKind::ended:
        take_ends(node, message);
        break;
      case MessageKind::problem:
        take_problem(node, message);
        break;
      case MessageKind::finished:
        if (const auto finished = message.one<NodeFinished>()) {
          node.reported = true;
          outcome_.escaped += finished->escaped;
          outcome_.survivors += finished->survivors;
          outcome_.failed |= finished->failed != 0;
        }
        break;
      default:
        break;
    }
  }
}

void StepLauncher::take_births(Node& node, const Message& message) {
  const auto now = monotonic_ns();
  const auto births = message.list<TaskBirth>();
  for (const auto& birth : births) {
    const auto local = static_cast<std::uint32_t>(node.births.size());
    if (local >= request_.layout.tasks_on(node.index)) return;
    auto& task = outcome_.tasks[request_.layout.rank_of(node.index, local)];
    task.pid = birth.pid;
    task.started = true;
    task.start_ns = now;
    node.births.push_back(birth);
  }
  if (node.births.size() == births.size()) {
    const auto facts = process_facts(node.session.session_pid);
    controller_.ledger().session_ready(
        node.index, {.pid = node.session.session_pid, .start_time = facts ? facts->start_time : 0},
        node.session);
  }
  controller_.ledger().tasks_started(node.index, births);
}

void StepLauncher::take_ends(Node& node, const Message& message) {
  bool bad = false;
  for (const auto& end : message.list<TaskEnd>()) {
    if (end.local_id >= request_.layout.tasks_on(node.index)) continue;
    const auto rank = request_.layout.rank_of(node.index, end.local_id);
    auto& task = outcome_.tasks[rank];
    task.ended = true;
    task.wait_status = end.wait_status;
    task.max_rss_kib = end.max_rss_kib;
    task.user_us = end.user_us;
    task.system_us = end.system_us;
    task.end_ns = end.end_ns;
    io_->task_ended(rank);
    if (end.wait_status == 0) continue;
    bad = true;
    if (request_.quiet || terminating_ || notices_.explained(rank)) continue;
    notices_.add(request_.node_names[node.index], rank, end_text(end.wait_status));
    if (!flush_at_) flush_at_ = SteadyClock::now() + kNoticeDelay;
  }
  if (bad && request_.kill_on_bad_exit && !terminating_) {
    if (!request_.quiet) say_("a task failed: ending the step (-K)");
    begin_termination();
  }
}

void StepLauncher::take_problem(Node& node, const Message& message) {
  auto problem = message.one<Problem>();
  if (!problem) return;
  problem->text.back() = '\0';
  const auto& name = request_.node_names[node.index];
  if (problem->local_id >= request_.layout.tasks_on(node.index)) {
    say_(name + ": " + problem->text.data());
    if (problem->stage == Stage::note) return;
    outcome_.failed = true;
    // A node that cannot run its tasks ends the step; one that could not clean up does not.
    if (problem->stage < Stage::fini) begin_termination();
    return;
  }
  notices_.add(name, request_.layout.rank_of(node.index, problem->local_id), problem->text.data());
  if (!flush_at_) flush_at_ = SteadyClock::now() + kNoticeDelay;
}

void StepLauncher::node_closed(Node& node) {
  poller_->remove(node.socket.fd());
  node.socket.close();
  const int status = reap(node.pid);
  if (node.reported) return node_done(node);
  const auto& name = request_.node_names[node.index];
  outcome_.failed = true;
  if (node.recovering) {
    say_(name + ": the clean-up (process " + std::to_string(node.pid) + ") " + end_text(status) +
         "; what the step held there is released by the next run");
    return node_done(node);
  }
  say_(name + ": the manager (process " + std::to_string(node.pid) + ") " + end_text(status) +
       "; its tasks are ended and what it held is given back");
  take_over(node);
}

/// The orphans of a dead manager are children of this process now, and nobody else's are: each
/// living manager adopts its own.
void StepLauncher::take_over(Node& node) {
  std::vector<pid_t> spared;
  for (const auto& other : nodes_) {
    if (!other->done && other.get() != &node) spared.push_back(other->pid);
    for (const auto& helper : other->helpers) spared.push_back(helper.pid);
  }
  const auto swept = sweep_descendants(spared, kSweepLimit, [&](pid_t pid, int status) {
    for (std::uint32_t local = 0; local < node.births.size(); ++local) {
      if (node.births[local].pid != pid) continue;
      auto& task = outcome_.tasks[request_.layout.rank_of(node.index, local)];
      if (task.ended) continue;
      task.ended = true;
      task.wait_status = status;
      task.end_ns = monotonic_ns();
    }
  });
  outcome_.survivors += swept.survivors;
  --live_nodes_;
  start_recovery(node);
  begin_termination();
}

/// Has what the node's manager held given back by a fresh process that plays the manager.
void StepLauncher::start_recovery(Node& node) {
  NodeStep step(request_, plugins_, controller_.job(), controller_.step(), node.index,
                controller_.packed(), launch_);
  const NodeRelease release{.container_id = node.session.container_id,
                            .process_group = node.session.session_pid};
  ++live_nodes_;
  node.recovering = true;
  node.done = node.reported = false;
  node.pid = fork_node(node, step, &release);
  if (node.pid <= 0) node_done(node);
}

void StepLauncher::node_done(Node& node) {
  node.done = true;
  --live_nodes_;
  controller_.ledger().node_ended(node.index);
  for (std::uint32_t local = 0; local < request_.layout.tasks_on(node.index); ++local) {
    io_->task_ended(request_.layout.rank_of(node.index, local));
  }
}

}  // namespace hal::host
