// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/none.h"

#include <cerrno>
#include <csignal>
#include <unistd.h>

#include "hal/accounting.h"
#include "hal/interconnect.h"
#include "hal/job_container.h"
#include "hal/topology.h"

namespace hal::linux_host {
namespace {

class NoneCodec final : public CredentialCodec {
 public:
  Result<Credential> decode(ByteReader&) const override { return Credential(); }
  std::span<const std::byte> encode(const Credential&) const override { return {}; }
  std::string describe(const Credential&) const override { return "no switch"; }
  std::string describe_long(const Credential&) const override {
    return "no switch: the credential is empty\n";
  }
};

class NoneController final : public InterconnectController {
 public:
  Result<> load(const std::optional<std::string>&, std::span<const Credential* const>) override {
    return {};
  }
  Result<> save(const std::string&) override { return {}; }
  Result<Credential> build_credential(const StepLayout&) override { return Credential(); }
  Result<> release(const Credential&) override { return {}; }
  Result<> clear() override { return {}; }
  Result<> accept_node_record(const NodeRecord& record) override {
    if (record.wire.empty()) return {};
    return fail(Errc::corrupt, EBADMSG,
                "a node reports " + std::to_string(record.wire.size()) +
                    " bytes of switch state to a controller without a switch: use one SwitchType");
  }
  bool delays_scheduling() const override { return false; }
};

class NoneNode final : public InterconnectNode {
 public:
  Result<> start() override { return {}; }
  Result<> stop() override { return {}; }
  Result<> clear() override { return {}; }
  Result<NodeRecord> record() override { return NodeRecord{}; }
  Result<> prepare(const Credential&) override { return {}; }
  Result<> open_context(const Credential&, uid_t) override { return {}; }
  Result<EnvUpdates> attach(const Credential&, const TaskPlace&) override { return EnvUpdates{}; }
  Result<> leave(const Credential&) override { return {}; }
  Result<> suspend(const Credential&) override { return {}; }
  Result<> resume(const Credential&) override { return {}; }

  /// 0 and 1 would address the caller's group and everybody; hosts of 1.0 and later name their own
  /// process, whose group is not to be killed.
  Result<> destroy_context(const Credential&, const DestroyContext& context) override {
    const pid_t group = context.process_group;
    if (group <= 1 || group == ::getpid() || group == ::getpgrp()) return {};
    if (::killpg(group, SIGKILL) == 0 || errno == ESRCH) return {};
    return fail_errno(errno, "killpg of process group " + std::to_string(group) + " of step " +
                                 std::to_string(to_number(context.job)) + "." +
                                 std::to_string(to_number(context.step)));
  }
};

class NoneReservation final : public CoreReservation {
 public:
  Result<> reserve(ContainerId, SpecializedCount) override { return {}; }
  Result<> release(ContainerId) override { return {}; }
  Result<> suspend(ContainerId, SpecializedCount) override { return {}; }
  Result<> resume(ContainerId, SpecializedCount) override { return {}; }
};

class NoneContainer final : public JobContainer {
 public:
  Result<> create(JobId, uid_t) override { return {}; }
  Result<> add_aggregate(JobId, ContainerId) override { return {}; }
  Result<> add_process(JobId, pid_t, uid_t) override { return {}; }
  Result<> join(JobId, uid_t) override { return {}; }
  Result<> recover(const std::string&, bool) override { return {}; }
  Result<> destroy(JobId) override { return {}; }
  void reconfigure() override {}
};

class NoneControllerAccounting final : public ControllerAccounting {
 public:
  Result<> open(const std::string&, const std::string&) override { return {}; }
  Result<> job_started(const JobFacts&) override { return {}; }
  Result<> job_completed(const JobFacts&) override { return {}; }
  Result<> receive(std::span<const std::byte>) override { return {}; }
};

class NoneNodeAccounting final : public NodeAccounting {
 public:
  Result<> open(const std::string&) override { return {}; }
  Result<> step_launched(const StepDescriptor&) override { return {}; }
  Result<> step_terminated(const StepDescriptor&, int) override { return {}; }
  Result<> session_started() override { return {}; }
  Result<> task_ended(const StepDescriptor&, const TaskEnd&) override { return {}; }
  Result<> receive(std::span<const std::byte>) override { return {}; }
};

template <class Role, class Implementation>
Result<std::unique_ptr<Role>> make(const BackendContext&) {
  return std::make_unique<Implementation>();
}

}  // namespace

const BackendDescriptor none_backend{
    .name = "none",
    .make_credential_codec = make<CredentialCodec, NoneCodec>,
    .make_interconnect_controller = make<InterconnectController, NoneController>,
    .make_interconnect_node = make<InterconnectNode, NoneNode>,
    .make_core_reservation = make<CoreReservation, NoneReservation>,
    .make_job_container = make<JobContainer, NoneContainer>,
    .make_controller_accounting = make<ControllerAccounting, NoneControllerAccounting>,
    .make_node_accounting = make<NodeAccounting, NoneNodeAccounting>,
};

}  // namespace hal::linux_host
