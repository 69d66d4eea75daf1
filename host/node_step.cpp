// SPDX-License-Identifier: BSD-3-Clause
#include "host/node_step.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include "host/host_symbol.h"

namespace hal::host {

NodeStep::NodeStep(const StepRequest& step_request, PluginSet& plugin_set, JobId job_id,
                   StepId step_id, std::uint32_t node_index, std::span<const std::byte> packed,
                   const LaunchState& launch_state)
    : request(step_request),
      plugins(plugin_set),
      job(job_id),
      step(step_id),
      index(node_index),
      launch(launch_state),
      task_count_(step_request.layout.tasks_on(node_index)),
      packed_(packed) {
  for (std::uint32_t local = 0; local < task_count_; ++local) {
    if (local > 0) ranks_ += ',';
    ranks_ += std::to_string(request.layout.rank_of(index, local));
  }
}

void NodeStep::enter(ProcessRole role, std::int32_t task) {
  publish_node_name(name());
  plugins.trace->set_process(role, name(), task);
}

Result<> NodeStep::unpack_credential() {
  auto& calls = *plugins.interconnect.operator->();
  // The result of alloc is ignored, as the daemons did: unpack decides.
  (void)traced(plugins, "switch_p_alloc_jobinfo", calls.alloc_jobinfo, &credential);
  ClassicBuf buffer(packed_);
  if (traced(plugins, "switch_p_unpack_jobinfo", calls.unpack_jobinfo, credential,
             buffer.handle()) != 0) {
    const int error = errno;
    free_credential();
    return fail(kind_of_errno(error), error, switch_failure("unpack of the credential", error));
  }
  return {};
}

void NodeStep::free_credential() {
  traced(plugins, "switch_p_free_jobinfo", plugins.interconnect->free_jobinfo, credential);
  credential = nullptr;
}

void NodeStep::make_records() {
  StepFacts facts;
  facts.job_id = to_number(job);
  facts.step_id = to_number(step);
  facts.node_count = request.layout.node_count();
  facts.node_id = index;
  facts.step_tasks = request.layout.task_count();
  facts.node_tasks = task_count_;
  facts.cpus = static_cast<std::uint16_t>(task_count_ > 0xffff ? 0xffff : task_count_);
  facts.uid = request.owner.uid;
  facts.gid = request.owner.gid;
  facts.manager_pid = ::getpid();
  facts.arguments = request.command;
  facts.working_directory = request.working_directory;
  facts.node_name = name();
  proctrack_record_.emplace(StepRecordLayout::v2_6, facts);
  jobacct_record_.emplace(late() ? StepRecordLayout::v1_0 : StepRecordLayout::v0_5_0, facts);
}

std::string NodeStep::switch_failure(std::string_view call, int error_number) const {
  return plugins.interconnect.plugin().type() + ": " + std::string(call) + ": " +
         switch_error_text(plugins, error_number);
}

void end_tracked(NodeStep& node, std::uint64_t container_id) {
  if (container_id == 0) return;
  auto& plugins = node.plugins;
  // ESRCH is the usual answer, because nobody is left: no news for the log.
  const auto log = exported_block().log;
  publish_log([](std::int32_t, const char*) {});
  (void)traced(plugins, "slurm_container_plugin_signal", plugins.proctrack->signal, container_id,
               SIGKILL);
  publish_log(log);
  (void)traced(plugins, "slurm_container_plugin_wait", plugins.proctrack->wait, container_id);
}

std::string release_node(NodeStep& node, const NodeRelease& release) {
  auto& plugins = node.plugins;
  const auto job = to_number(node.job);
  std::string failure;
  if (release.postfini &&
      traced(plugins, "switch_p_job_postfini", plugins.interconnect->job_postfini, node.credential,
             static_cast<uid_t>(release.process_group), job, to_number(node.step)) < 0) {
    failure = node.switch_failure("job_postfini", errno);
  }
  (void)traced(plugins, "core_spec_p_clear", plugins.core_spec->clear, release.container_id);
  if (release.container_id != 0) {
    (void)traced(plugins, "slurm_container_plugin_destroy", plugins.proctrack->destroy,
                 release.container_id);
  }
  (void)traced(plugins, "container_p_delete", plugins.job_container->remove, job);
  node.jobacct_record().set_session(release.process_group, release.session_status);
  (void)traced(plugins, "slurmd_jobacct_jobstep_terminated", plugins.jobacct->jobstep_terminated,
               node.jobacct_record().handle());
  node.free_credential();
  return failure;
}

}  // namespace hal::host
