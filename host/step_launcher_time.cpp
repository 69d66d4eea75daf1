// SPDX-License-Identifier: BSD-3-Clause
// Signals that the launcher gets, and what happens when time is up.
#include <algorithm>
#include <csignal>
#include <set>

#include "host/step_launcher.h"
#include "host/step_node.h"

namespace hal::host {
namespace {

constexpr auto kInterruptWindow = std::chrono::seconds(1);
constexpr auto kKillAgain = std::chrono::seconds(5);

/// After this many orders to kill, managers that still do not end are killed themselves.
constexpr int kKillsBeforeManagers = 12;

}  // namespace

void StepLauncher::on_signal(int signal) {
  switch (signal) {
    case SIGINT:
      interrupt();
      break;
    case SIGTERM:
      if (terminating_) send_signal(SIGTERM);
      begin_termination();
      break;
    default:
      send_signal(signal);
  }
}

/// Once: a report. Again within a second: the step ends. Once more: it ends at once.
void StepLauncher::interrupt() {
  const auto now = SteadyClock::now();
  if (terminating_) {
    say_("killing the step");
    kill_all();
    return;
  }
  if (interrupted_ && now - *interrupted_ <= kInterruptWindow) {
    say_("sending Ctrl-C to the step and ending it");
    send_signal(SIGINT);
    begin_termination();
    return;
  }
  interrupted_ = now;
  report_status();
}

void StepLauncher::report_status() {
  if (request_.quiet) return;
  say_("interrupt (one more within 1 sec to abort)");
  std::set<std::uint32_t> waiting;
  std::set<std::uint32_t> running;
  std::set<std::uint32_t> ended;
  for (std::uint32_t rank = 0; rank < outcome_.tasks.size(); ++rank) {
    const auto& task = outcome_.tasks[rank];
    (task.ended ? ended : task.started ? running : waiting).insert(rank);
  }
  const auto line = [&](const std::set<std::uint32_t>& ranks, const char* state) {
    if (ranks.empty()) return;
    say_(std::string(ranks.size() > 1 ? "tasks " : "task ") + ranks_as_text(ranks) + ": " + state);
  };
  line(waiting, "starting");
  line(running, "running");
  line(ended, "ended");
}

void StepLauncher::send_signal(int signal) {
  const std::int32_t number = signal;
  for (const auto& node : nodes_) {
    if (!node->done && !node->recovering) node->socket.send(MessageKind::signal, number);
  }
}

void StepLauncher::begin_termination() {
  if (terminating_) return;
  terminating_ = true;
  send_signal(SIGCONT);
  send_signal(SIGTERM);
  kill_at_ = SteadyClock::now() + request_.kill_wait;
}

void StepLauncher::kill_all() {
  ++kills_;
  kill_at_ = SteadyClock::now() + kKillAgain;
  for (const auto& node : nodes_) {
    if (node->done) continue;
    if (kills_ > kKillsBeforeManagers && !node->recovering) {
      ::kill(node->pid, SIGKILL);
    } else if (!node->recovering) {
      node->socket.send_empty(MessageKind::kill_all);
    }
  }
}

void StepLauncher::check_time() {
  const auto now = SteadyClock::now();
  if (flush_at_ && now >= *flush_at_) {
    flush_at_.reset();
    notices_.flush(say_);
  }
  if (time_limit_ && now >= *time_limit_) {
    time_limit_.reset();
    outcome_.timed_out = true;
    say_("time limit reached: ending the step");
    begin_termination();
  }
  if (kill_at_ && now >= *kill_at_) kill_all();
}

int StepLauncher::next_timeout() const {
  std::optional<SteadyClock::time_point> next;
  for (const auto& time : {time_limit_, kill_at_, flush_at_}) {
    if (time && (!next || *time < *next)) next = time;
  }
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - SteadyClock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 3'600'000));
}

}  // namespace hal::host
