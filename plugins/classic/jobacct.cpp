// SPDX-License-Identifier: BSD-3-Clause
#include "hal/accounting.h"
#include "plugins/classic/host.h"
#include "plugins/classic/jobacct_api.h"
#include "plugins/service.h"

using namespace hal;           // NOLINT(google-build-using-namespace): thin C entry points
using namespace hal::classic;  // NOLINT(google-build-using-namespace)

namespace {

/// The two roles of accounting; each made in the process that first needs it.
class AccountingService final : public plugin::Service {
 public:
  using Service::Service;
  ~AccountingService() override {
    node_.reset();
    controller_.reset();
  }

  [[nodiscard]] Result<ControllerAccounting*> controller() {
    return controller_.get([this] { return make_role(backend().make_controller_accounting); });
  }
  [[nodiscard]] Result<NodeAccounting*> node() {
    return node_.get([this] { return make_role(backend().make_node_accounting); });
  }

  /// One symbol serves two daemons: the one that was set up answers.
  [[nodiscard]] Result<> receive(std::span<const std::byte> message) {
    if (ControllerAccounting* role = controller_.peek(); role != nullptr) {
      return role->receive(message);
    }
    return node().and_then([&](NodeAccounting* role) { return role->receive(message); });
  }

  [[nodiscard]] Result<> step_ended(const plugin::StepRecord& record) {
    return node().and_then([&](NodeAccounting* role) {
      return role->step_terminated(record.step, record.session_status);
    });
  }

 private:
  plugin::Lazy<ControllerAccounting> controller_;
  plugin::Lazy<NodeAccounting> node_;
};

template <class Body>
int call(const char* name, Body&& body) noexcept {
  return plugin::call<AccountingService>(name, std::forward<Body>(body));
}

}  // namespace

Result<std::unique_ptr<plugin::Service>> plugin::make_service(const HostSymbols& symbols,
                                                              BoundBackend bound) {
  return std::make_unique<AccountingService>(symbols, std::move(bound));
}

int slurmctld_jobacct_init(char* job_acct_loc, char* job_acct_parameters) {
  return call("slurmctld_jobacct_init", [&](AccountingService& service) {
    return service.controller().and_then([&](ControllerAccounting* role) {
      return role->open(std::string(text_of(job_acct_loc)),
                        std::string(text_of(job_acct_parameters)));
    });
  });
}

int slurmctld_jobacct_job_start(job_record* job_ptr) {
  return call("slurmctld_jobacct_job_start", [&](AccountingService& service) {
    return read_job(job_ptr).and_then([&](const JobFacts& job) {
      return service.controller().and_then(
          [&](ControllerAccounting* role) { return role->job_started(job); });
    });
  });
}

int slurmctld_jobacct_job_complete(job_record* job_ptr) {
  return call("slurmctld_jobacct_job_complete", [&](AccountingService& service) {
    return read_job(job_ptr).and_then([&](const JobFacts& job) {
      return service.controller().and_then(
          [&](ControllerAccounting* role) { return role->job_completed(job); });
    });
  });
}

int slurm_jobacct_process_message(slurm_msg* msg) {
  return call("slurm_jobacct_process_message", [&](AccountingService& service) {
    return read_message(msg).and_then(
        [&](std::span<const std::byte> bytes) { return service.receive(bytes); });
  });
}

int slurmd_jobacct_init(char* job_acct_parameters) {
  return call("slurmd_jobacct_init", [&](AccountingService& service) {
    return service.node().and_then([&](NodeAccounting* role) {
      return role->open(std::string(text_of(job_acct_parameters)));
    });
  });
}

int slurmd_jobacct_jobstep_launched(slurmd_job_t* job) {
  return call("slurmd_jobacct_jobstep_launched", [&](AccountingService& service) {
    return read_step(job, Manager::any).and_then([&](const plugin::StepRecord& record) {
      return service.node().and_then(
          [&](NodeAccounting* role) { return role->step_launched(record.step); });
    });
  });
}

int slurmd_jobacct_jobstep_terminated(slurmd_job_t* job) {
  return call("slurmd_jobacct_jobstep_terminated", [&](AccountingService& service) {
    return read_step(job, Manager::any).and_then([&](const plugin::StepRecord& record) {
      return service.step_ended(record);
    });
  });
}

int slurmd_jobacct_smgr(void) {
  return call("slurmd_jobacct_smgr", [&](AccountingService& service) {
    return service.node().and_then([](NodeAccounting* role) { return role->session_started(); });
  });
}

int slurmd_jobacct_task_exit(slurmd_job_t* job, pid_t pid, int status, struct rusage* rusage) {
  return call("slurmd_jobacct_task_exit", [&](AccountingService& service) {
    const TaskEnd end{pid, status, rusage != nullptr ? *rusage : ::rusage{}};
    return read_step(job, Manager::any).and_then([&](const plugin::StepRecord& record) {
      return service.node().and_then(
          [&](NodeAccounting* role) { return role->task_ended(record.step, end); });
    });
  });
}
