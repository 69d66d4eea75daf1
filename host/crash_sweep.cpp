// SPDX-License-Identifier: BSD-3-Clause
#include "host/crash_sweep.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <sys/wait.h>
#include <unistd.h>

#include "host/descendants.h"
#include "host/step_manager.h"

namespace hal::host {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

/// A manager that has lost its launcher ends its part by itself; postfini may take 30 s of this.
constexpr auto kManagerLimit = 40s;
constexpr auto kKillLimit = 5s;

/// Trackers of the documents' years use a process group's number as the container.
constexpr std::uint64_t kHighestPid = 1U << 22;

void wait_for_manager(const ProcessMark& manager, SteadyClock::time_point deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - SteadyClock::now());
  (void)wait_for_end(manager.pid, manager.start_time, left);
}

/// What may be told to the tracker: a number that is a pid only while it still means our processes.
std::uint64_t safe_container(const NodeHolding& node) {
  if (node.container_id > kHighestPid) return node.container_id;
  const bool lives = std::ranges::any_of(
      node.tasks, [](const ProcessMark& task) { return is_alive(task.pid, task.start_time); });
  return lives ? node.container_id : 0;
}

bool kill_recorded(const NodeHolding& node, const std::function<void(const std::string&)>& say) {
  bool all = true;
  const auto kill_one = [&](const ProcessMark& mark) {
    if (mark.pid <= 1 || kill_process(mark.pid, mark.start_time, kKillLimit)) return;
    say("process " + std::to_string(mark.pid) + " of a dead run cannot be ended");
    all = false;
  };
  kill_one(node.manager);
  kill_one(node.session);
  std::ranges::for_each(node.tasks, kill_one);
  return all;
}

Result<StepRequest> request_of(const StepHolding& holding) {
  auto nodes = NodeList::parse(holding.nodes);
  if (!nodes) return propagate(std::move(nodes));
  StepRequest request;
  request.node_names = nodes->expand();
  const auto count = static_cast<std::uint32_t>(request.node_names.size());
  auto layout = StepLayout::from_counts(std::move(*nodes), count, TaskDistribution::block);
  if (!layout) return propagate(std::move(layout));
  request.layout = std::move(*layout);
  request.shape = holding.shape;
  request.command = {"(recovered)"};
  return request;
}

/// Has one node released by a process that plays it.
bool release_in_child(PluginSet& plugins, const StepRequest& request, const StepHolding& holding,
                      std::uint32_t index, std::uint64_t container,
                      const std::function<void(const std::string&)>& say) {
  auto sockets = MessageSocket::make_pair();
  const pid_t pid = sockets ? ::fork() : -1;
  if (pid < 0) return false;
  if (pid == 0) {
    sockets->first.close();
    const LaunchState launch;
    NodeStep node(request, plugins, holding.job, holding.step, index, holding.credential.wire(),
                  launch);
    ::_exit(recover_node(node, sockets->second, {.container_id = container}));
  }
  sockets->second.close();
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  Message message;
  while (sockets->first.receive(message) == MessageSocket::Receive::message) {
    if (const auto problem = message.one<Problem>()) {
      say(request.node_names[index] + ": " + problem->text.data());
    }
  }
  return status == 0;
}

}  // namespace

bool release_dead_nodes(PluginSet& plugins, const StepHolding& holding,
                        const std::function<void(const std::string&)>& say) {
  auto request = request_of(holding);
  if (!request) {
    say(request.error().detail);
    return false;
  }
  bool all = true;
  const bool processes_known = holding.same_boot();
  const auto deadline = SteadyClock::now() + kManagerLimit;
  for (const auto& [index, node] : holding.by_node) {
    if (processes_known) wait_for_manager(node.manager, deadline);
  }
  for (std::uint32_t index = 0; index < request->node_names.size(); ++index) {
    const auto found = holding.by_node.find(index);
    if (found == holding.by_node.end() || found->second.ended) continue;
    std::uint64_t container = 0;
    if (processes_known) {
      container = safe_container(found->second);
      all = kill_recorded(found->second, say) && all;
    }
    all = release_in_child(plugins, *request, holding, index, container, say) && all;
  }
  return all;
}

}  // namespace hal::host
