// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_launcher.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/descendants.h"
#include "host/step_manager.h"
#include "host/step_node.h"

namespace hal::host {
namespace {

constexpr auto kSweepLimit = std::chrono::seconds(30);

/// What plugins leave to clean up after a manager gets this long, then it is swept too.
constexpr auto kHelperLimit = std::chrono::seconds(40);

}  // namespace

StepLauncher::StepLauncher(const StepRequest& request, PluginSet& plugins, Controller& controller,
                           Say say)
    : request_(request), plugins_(plugins), controller_(controller), say_(std::move(say)) {}

StepLauncher::~StepLauncher() = default;

Result<StepOutcome> StepLauncher::run(IoPlan plan) {
  const auto start = SteadyClock::now();
  if (auto ready = set_up(std::move(plan)); !ready) return propagate(std::move(ready));
  for (std::uint32_t index = 0; index < request_.layout.node_count() && !terminating_; ++index) {
    start_node(index);
  }
  io_->start();
  if (request_.time_limit) time_limit_ = SteadyClock::now() + *request_.time_limit;
  wait_for_nodes();
  finish();
  outcome_.seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
  return std::move(outcome_);
}

Result<> StepLauncher::set_up(IoPlan plan) {
  outcome_.job = controller_.job();
  outcome_.step = controller_.step();
  outcome_.tasks.resize(request_.layout.task_count());
  for (std::uint32_t node = 0; node < request_.layout.node_count(); ++node) {
    for (std::uint32_t local = 0; local < request_.layout.tasks_on(node); ++local) {
      outcome_.tasks[request_.layout.rank_of(node, local)].node_index = node;
    }
  }
  if (auto adopting = adopt_orphans(); !adopting) return adopting;
  auto poller = Poller::create();
  if (!poller) return propagate(std::move(poller));
  poller_.emplace(std::move(*poller));
  signals_ = std::make_unique<SignalSource>([this](int signal) { on_signal(signal); });
  if (auto opened = signals_->open(*poller_, launch_.signal_mask); !opened) return opened;
  raise_file_limit();
  io_ = std::make_unique<StepIo>(*poller_, request_, std::move(plan), controller_.job(),
                                 controller_.step());
  return io_->open_shared();
}

/// Pipes of many labelled tasks may need more descriptors than the usual 1024.
void StepLauncher::raise_file_limit() {
  const std::uint64_t needed =
      std::uint64_t{4} * request_.layout.task_count() + request_.layout.node_count() + 64;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= needed) return;
  launch_.open_files = limit;
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, needed);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) launch_.open_files.reset();
}

void StepLauncher::start_node(std::uint32_t index) {
  nodes_.push_back(std::make_unique<Node>());
  auto& node = *nodes_.back();
  node.launcher = this;
  node.index = index;
  NodeStep step(request_, plugins_, controller_.job(), controller_.step(), index,
                controller_.packed(), launch_);
  auto stdio = io_->prepare_node(index);
  if (!stdio) {
    say_(request_.node_names[index] + ": " + stdio.error().detail);
  } else {
    step.stdio = std::move(*stdio);
    node.pid = fork_node(node, step, nullptr);
  }
  if (node.pid > 0) {
    ++live_nodes_;
    const auto facts = process_facts(node.pid);
    node.mark = {.pid = node.pid, .start_time = facts ? facts->start_time : 0};
    controller_.ledger().manager_started(index, node.mark);
    return;
  }
  outcome_.failed = node.done = true;
  begin_termination();
}

/// Forks a node's manager, or with `release` the process that gives back what a dead one held.
pid_t StepLauncher::fork_node(Node& node, NodeStep& step, const NodeRelease* release) {
  auto sockets = MessageSocket::make_pair();
  if (!sockets) {
    say_(step.name() + ": " + sockets.error().detail);
    return -1;
  }
  const pid_t pid = ::fork();
  if (pid < 0) {
    say_(step.name() + ": fork of its manager: " + std::strerror(errno));
    return -1;
  }
  if (pid == 0) {
    sockets->first.close();
    leave_launcher_in_child(node);
    if (release != nullptr) ::_exit(recover_node(step, sockets->second, *release));
    StepManager manager(step, io_->plan(), std::move(sockets->second));
    ::_exit(manager.run());
  }
  node.socket = std::move(sockets->first);
  poller_->add(node.socket.fd(), EPOLLIN, node);
  return pid;
}

void StepLauncher::leave_launcher_in_child(const Node& keep) {
  // Another node's socket held here would hide from that node that the launcher has died.
  for (auto& node : nodes_) {
    if (node.get() != &keep) node->socket.close();
  }
  signals_->close();
  poller_->close();
  io_->close_in_child();
}

void StepLauncher::wait_for_nodes() {
  while (live_nodes_ > 0) {
    poller_->wait(io_->wants_turn() ? 0 : next_timeout());
    if (io_->wants_turn()) io_->take_turn();
    io_->resume_streams();
    check_time();
  }
}

/// Helpers of plugins are children of this process once their manager has ended. Where one did not
/// do its work, the node is released once more by a process of its own.
void StepLauncher::wait_for_helpers() {
  const auto deadline = SteadyClock::now() + kHelperLimit;
  for (const auto& node : nodes_) {
    bool failed = false;
    for (const auto& helper : node->helpers) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
      int status = 0;
      failed |= !wait_for_end(helper.pid, helper.start_time, left) ||
                (::waitpid(helper.pid, &status, WNOHANG) == helper.pid && status != 0);
    }
    if (failed && !node->recovering) start_recovery(*node);
  }
  wait_for_nodes();
}

void StepLauncher::finish() {
  wait_for_helpers();
  const auto swept = sweep_descendants({}, kSweepLimit, [](pid_t, int) {});
  outcome_.escaped += swept.found;
  outcome_.survivors += swept.survivors;
  io_->finish();
  notices_.flush(say_);
  if (outcome_.survivors > 0) {
    say_(std::to_string(outcome_.survivors) + " processes of the step cannot be ended");
  }
}

}  // namespace hal::host
