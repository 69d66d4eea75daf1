// SPDX-License-Identifier: BSD-3-Clause
// Switch face: set-up calls, node records and the step's life on a node.
#include <cerrno>
#include <limits>

#include "plugins/classic/environment.h"
#include "plugins/classic/host.h"
#include "plugins/classic/switch_face.h"

using namespace hal;           // NOLINT(google-build-using-namespace): thin C entry points
using namespace hal::classic;  // NOLINT(google-build-using-namespace)
using plugin::SwitchEra;

namespace {

int set_up(const char* name) noexcept {
  return call(name, [](SwitchService&) -> Result<> { return {}; });
}

Result<> read_record(SwitchService& service, NodeInfo* info, Buf buffer) {
  return unread(buffer)
      .and_then([&](std::span<const std::byte> bytes) { return service.decode(info, bytes); })
      .transform([&](std::size_t used) { consume(buffer, used); });
}

/// Hosts of 0.4 and 0.5 unpack by calling pack, on a record that nobody built, and take any result
/// but 0 for a failure. Source: classic ABI sheet 2.
Result<int> pack_record(SwitchService& service, NodeInfo* info, Buf buffer) {
  const bool early = service.era() < SwitchEra::v0_6;
  if (early && info != nullptr && !info->value.filled) {
    return read_record(service, info, buffer).transform([] { return 0; });
  }
  const auto bytes = service.encode(info);
  return append(buffer, bytes).transform([&] {
    return early ? 0 : static_cast<int>(bytes.size());
  });
}

/// The handle behind either form of the argument; clears the caller's handle in the address form.
Result<NodeInfo*> take_record(switch_node_info_t* argument) {
  if (argument == nullptr) return nullptr;
  if (NodeInfo::looks_like(argument)) return NodeInfo::from(argument);
  auto info = NodeInfo::from(*argument);
  if (info) *argument = nullptr;
  return info;
}

/// A process id that came as a uid_t; numbers that are none mean "unknown".
pid_t process_of(uid_t number) noexcept {
  return number <= static_cast<uid_t>(std::numeric_limits<pid_t>::max())
             ? static_cast<pid_t>(number)
             : 0;
}

}  // namespace

int switch_p_slurmctld_init(void) { return set_up("slurmctld_init"); }
int switch_p_slurmd_init(void) { return set_up("slurmd_init"); }
int switch_p_slurmd_step_init(void) { return set_up("slurmd_step_init"); }

int switch_p_clear_node_state(void) {
  return call("clear_node_state", [](SwitchService& service) { return service.node_clear(); });
}

int switch_p_alloc_node_info(switch_node_info_t* switch_node) {
  return call("alloc_node_info", [&](SwitchService&) -> Result<> {
    if (switch_node == nullptr) {
      return fail(Errc::invalid_argument, EINVAL, "the host gave no place for the node record");
    }
    *switch_node = NodeInfo::make();
    return {};
  });
}

int switch_p_build_node_info(switch_node_info_t switch_node) {
  return call_node("build_node_info", switch_node,
                   [](SwitchService& service, NodeInfo* info) { return service.fill(info); });
}

int switch_p_pack_node_info(switch_node_info_t switch_node, Buf buffer) {
  return call_node("pack_node_info", switch_node, [&](SwitchService& service, NodeInfo* info) {
    return pack_record(service, info, buffer);
  });
}

int switch_p_unpack_node_info(switch_node_info_t switch_node, Buf buffer) {
  return call_node("unpack_node_info", switch_node, [&](SwitchService& service, NodeInfo* info) {
    return read_record(service, info, buffer);
  });
}

int switch_p_free_node_info(switch_node_info_t* switch_node) {
  return call("free_node_info", [&](SwitchService&) {
    return take_record(switch_node).transform([](NodeInfo* info) { NodeInfo::destroy(info); });
  });
}

char* switch_p_sprintf_node_info(switch_node_info_t switch_node, char* buf, size_t size) {
  (void)copy_text(buf, size, "unreadable node record");  // stays there if the call fails
  return call_or<NodeInfo>("sprintf_node_info", size > 0 ? buf : nullptr, switch_node,
                           [&](SwitchService& service, const NodeInfo* info) -> Result<char*> {
                             return copy_text(buf, size, service.describe(info));
                           });
}

int switch_p_node_init(void) {
  return call("node_init", [](SwitchService& service) { return service.node_start(); });
}

int switch_p_node_fini(void) {
  return call("node_fini", [](SwitchService& service) { return service.node_stop(); });
}

int switch_p_job_preinit(switch_jobinfo_t switch_job) {
  return call_job("job_preinit", switch_job,
                  [](SwitchService& service, const JobInfo* job) { return service.prepare(job); });
}

int switch_p_job_init(switch_jobinfo_t switch_job, uid_t uid) {
  return call_job("job_init", switch_job, [&](SwitchService& service, const JobInfo* job) {
    return service.open_context(job, uid);
  });
}

int switch_p_job_attach(switch_jobinfo_t switch_job, char*** env, uint32_t nodeid, uint32_t procid,
                        uint32_t nnodes, uint32_t nprocs, uint32_t rank) {
  return call_job("job_attach", switch_job, [&](SwitchService& service, const JobInfo* job) {
    return service.attach(job, TaskPlace{nodeid, procid, nnodes, nprocs, rank})
        .and_then([&](const EnvUpdates& updates) { return update_environment(env, updates); });
  });
}

int switch_p_job_fini(switch_jobinfo_t switch_job) {
  return call_job("job_fini", switch_job,
                  [](SwitchService& service, const JobInfo* job) { return service.leave(job); });
}

int switch_p_job_postfini(switch_jobinfo_t switch_job, uid_t pgid, uint32_t job_id,
                          uint32_t step_id) {
  return call_job("job_postfini", switch_job, [&](SwitchService& service, const JobInfo* job) {
    return service.destroy_context(job, {JobId{job_id}, StepId{step_id}, process_of(pgid)});
  });
}
