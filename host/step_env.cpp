// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_env.h"

#include <string_view>
#include <unistd.h>

namespace hal::host {
namespace {

void set_step_variables(ClassicEnv& env, const NodeStep& node) {
  const auto& layout = node.request.layout;
  const auto job = std::to_string(to_number(node.job));
  const auto step = std::to_string(to_number(node.step));
  const auto tasks = std::to_string(layout.task_count());
  const auto nodes = std::to_string(layout.node_count());
  const auto list = layout.nodes().ranged();
  const auto counts = tasks_per_node_text(layout);
  for (const auto* name : {"SLURM_JOB_ID", "SLURM_JOBID"}) env.set(name, job);
  for (const auto* name : {"SLURM_STEP_ID", "SLURM_STEPID"}) env.set(name, step);
  for (const auto* name : {"SLURM_NTASKS", "SLURM_NPROCS", "SLURM_STEP_NUM_TASKS"}) {
    env.set(name, tasks);
  }
  for (const auto* name : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_STEP_NUM_NODES"}) {
    env.set(name, nodes);
  }
  for (const auto* name : {"SLURM_NODELIST", "SLURM_JOB_NODELIST", "SLURM_STEP_NODELIST"}) {
    env.set(name, list);
  }
  for (const auto* name : {"SLURM_TASKS_PER_NODE", "SLURM_STEP_TASKS_PER_NODE"}) {
    env.set(name, counts);
  }
  const bool cyclic = layout.distribution() == TaskDistribution::cyclic;
  env.set("SLURM_DISTRIBUTION", cyclic ? "cyclic" : "block");
  if (node.request.label) env.set("SLURM_LABELIO", "1");
  if (node.request.overcommit) env.set("SLURM_OVERCOMMIT", "1");
}

void set_node_variables(ClassicEnv& env, const NodeStep& node) {
  env.set("SLURMD_NODENAME", node.name());
  env.set("SLURM_NODEID", std::to_string(node.index));
  env.set("SLURM_CPUS_ON_NODE", std::to_string(node.task_count()));
  env.set("SLURM_GTIDS", node.ranks_text());
}

}  // namespace

void set_slurm_variables(ClassicEnv& env, const NodeStep& node, std::uint32_t local_id) {
  const auto& owner = node.request.owner;
  if (!owner.user.empty()) {
    env.set("USER", owner.user);
    env.set("LOGNAME", owner.user);
    env.set("HOME", owner.home);
    env.set("SHELL", owner.shell);
  }
  set_step_variables(env, node);
  set_node_variables(env, node);
  env.set("SLURM_PROCID", std::to_string(node.request.layout.rank_of(node.index, local_id)));
  env.set("SLURM_LOCALID", std::to_string(local_id));
  env.set("SLURM_TASK_PID", std::to_string(::getpid()));
}

std::string tasks_per_node_text(const StepLayout& layout) {
  std::string text;
  for (std::uint32_t node = 0; node < layout.node_count();) {
    const auto count = layout.tasks_on(node);
    std::uint32_t repeat = 1;
    while (node + repeat < layout.node_count() && layout.tasks_on(node + repeat) == count) ++repeat;
    if (!text.empty()) text += ',';
    text += std::to_string(count);
    if (repeat > 1) text += "(x" + std::to_string(repeat) + ")";
    node += repeat;
  }
  return text;
}

}  // namespace hal::host
