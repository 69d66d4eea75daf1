// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <limits>

#include "hal/process_aggregate.h"
#include "plugins/classic/memory.h"
#include "plugins/classic/proctrack_api.h"
#include "plugins/role_service.h"

using namespace hal;           // NOLINT(google-build-using-namespace): thin C entry points
using namespace hal::classic;  // NOLINT(google-build-using-namespace)

namespace {

using TrackerRole =
    plugin::RoleService<ProcessAggregate, &BackendDescriptor::make_process_aggregate>;

/// The verbs of process tracking on the host's own records.
class TrackerService final : public TrackerRole {
 public:
  using TrackerRole::TrackerRole;

  [[nodiscard]] Result<> open() {
    auto limit = config().get_number("unkillable_step_timeout", 60, 1, 86'400);
    if (!limit) return propagate(std::move(limit));
    wait_limit_ = std::chrono::seconds(*limit);
    return TrackerRole::open();
  }

  [[nodiscard]] Result<> create(slurmd_job_t* job) {
    auto record = read_step(job, Manager::self);
    if (!record) return propagate(std::move(record));
    form_.store(header_form(job), std::memory_order_relaxed);
    if (record->container != kNoContainer) {
      host().log(
          LogLevel::info,
          "step has container " + std::to_string(to_number(record->container)) + " already: kept");
      return {};
    }
    auto made = role().create(record->step);
    if (!made) return propagate(std::move(made));
    auto written = write_container(job, *made);
    if (!written) (void)role().destroy(*made);
    return written;
  }

  [[nodiscard]] Result<> add(const slurmd_job_t* job, pid_t pid) {
    auto record = read_step(job, Manager::self_or_parent);
    if (!record) return propagate(std::move(record));
    if (record->container == kNoContainer) {
      return fail(Errc::invalid_argument, EINVAL,
                  "process " + std::to_string(pid) +
                      " cannot be added: the step has no container, create comes first");
    }
    return role().add(record->container, pid, record->step);
  }

  /// Success also for a container that is gone: destroy knows those from ids that never were.
  [[nodiscard]] Result<> wait(ContainerId id) {
    auto emptied = role().wait_empty(id, wait_limit_);
    const bool unknown = !emptied && emptied.error().kind == Errc::not_found;
    if (unknown && role().destroy(id)) return {};
    return emptied;
  }

  [[nodiscard]] bool has(ContainerId id, pid_t pid) {
    return id != kNoContainer && role().find(pid) == id;
  }

  /// Sets the host's variables only as a pair.
  [[nodiscard]] Result<> list(ContainerId id, pid_t** pids, int* count) {
    *pids = nullptr;
    *count = 0;
    auto members = role().pids(id);
    if (!members) return propagate(std::move(members));
    if (members->empty()) return {};
    const std::size_t size = members->size() * sizeof(pid_t);
    auto* block = static_cast<pid_t*>(allocate_block(form_.load(std::memory_order_relaxed), size));
    if (block == nullptr) return fail(Errc::exhausted, ENOMEM, "no memory for the list of pids");
    std::ranges::copy(*members, block);
    *pids = block;
    *count = static_cast<int>(members->size());
    return {};
  }

 private:
  std::chrono::milliseconds wait_limit_{};
  std::atomic<HeaderForm> form_{HeaderForm::two_ints};  ///< of the host's records
};

template <class Body>
int call(const char* name, Body&& body) noexcept {
  return plugin::call<TrackerService>(name, std::forward<Body>(body));
}

int create(slurmd_job_t* job) noexcept {
  return call("create", [&](TrackerService& service) { return service.create(job); });
}

int add(slurmd_job_t* job, pid_t pid) noexcept {
  return call("add", [&](TrackerService& service) { return service.add(job, pid); });
}

int signal_all(uint64_t id, int signal) noexcept {
  return call("signal", [&](TrackerService& service) {
    return service.role().signal(ContainerId{id}, signal);
  });
}

int destroy(uint64_t id) noexcept {
  return call("destroy",
              [&](TrackerService& service) { return service.role().destroy(ContainerId{id}); });
}

uint64_t find(pid_t pid) noexcept {
  return plugin::call_or<TrackerService, uint64_t>(
      "find", 0, [&](TrackerService& service) -> Result<uint64_t> {
        return to_number(service.role().find(pid));
      });
}

bool has_pid(uint64_t id, pid_t pid) noexcept {
  return plugin::call_or<TrackerService>(
      "has_pid", false,
      [&](TrackerService& service) -> Result<bool> { return service.has(ContainerId{id}, pid); });
}

int wait_empty(uint64_t id) noexcept {
  return call("wait", [&](TrackerService& service) { return service.wait(ContainerId{id}); });
}

int get_pids(uint64_t id, pid_t** pids, int* count) noexcept {
  return call("get_pids", [&](TrackerService& service) -> Result<> {
    if (pids == nullptr || count == nullptr) {
      return fail(Errc::invalid_argument, EINVAL, "the host gave no place for the list of pids");
    }
    return service.list(ContainerId{id}, pids, count);
  });
}

}  // namespace

Result<std::unique_ptr<plugin::Service>> plugin::make_service(const HostSymbols& symbols,
                                                              BoundBackend bound) {
  return make_opened<TrackerService>(symbols, std::move(bound));
}

int slurm_container_plugin_create(slurmd_job_t* job) { return create(job); }
int slurm_container_plugin_add(slurmd_job_t* job, pid_t pid) { return add(job, pid); }
int slurm_container_plugin_signal(uint64_t id, int signal) { return signal_all(id, signal); }
int slurm_container_plugin_destroy(uint64_t id) { return destroy(id); }
uint64_t slurm_container_plugin_find(pid_t pid) { return find(pid); }
bool slurm_container_plugin_has_pid(uint64_t id, pid_t pid) { return has_pid(id, pid); }
int slurm_container_plugin_wait(uint64_t id) { return wait_empty(id); }
int slurm_container_plugin_get_pids(uint64_t cont_id, pid_t** pids, int* npids) {
  return get_pids(cont_id, pids, npids);
}

int proctrack_p_create(slurmd_job_t* job) { return create(job); }
int proctrack_p_add(slurmd_job_t* job, pid_t pid) { return add(job, pid); }
int proctrack_p_signal(uint64_t id, int signal) { return signal_all(id, signal); }
int proctrack_p_destroy(uint64_t id) { return destroy(id); }
uint64_t proctrack_p_find(pid_t pid) { return find(pid); }
bool proctrack_p_has_pid(uint64_t id, pid_t pid) { return has_pid(id, pid); }
int proctrack_p_wait(uint64_t id) { return wait_empty(id); }
int proctrack_p_get_pids(uint64_t cont_id, pid_t** pids, int* npids) {
  return get_pids(cont_id, pids, npids);
}
