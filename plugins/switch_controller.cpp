// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <unistd.h>

#include "plugins/switch_service.h"

namespace hal::plugin {
namespace {

/// Refuses counts that no host means: hosts of other years pass another type in this place.
Result<StepLayout> layout_of(const StepRequest& request) {
  auto nodes = NodeList::parse(request.nodes);
  if (!nodes) return propagate(std::move(nodes));
  const auto order = request.cyclic ? TaskDistribution::cyclic : TaskDistribution::block;
  if (const auto* count = std::get_if<std::uint32_t>(&request.tasks); count != nullptr) {
    return StepLayout::from_counts(*std::move(nodes), *count, order);
  }
  const int* per_node = std::get<const int*>(request.tasks);
  if (per_node == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "the host gave no tasks per node");
  }
  std::vector<std::uint32_t> tasks;
  tasks.reserve(nodes->size());
  for (std::size_t i = 0; i < nodes->size(); ++i) {
    if (per_node[i] < 0) {
      return fail(Errc::invalid_argument, EINVAL,
                  "a negative number of tasks on node " + nodes->at(i));
    }
    tasks.push_back(static_cast<std::uint32_t>(per_node[i]));
  }
  return StepLayout::from_tasks(*std::move(nodes), tasks, order);
}

/// Credentials of steps that are alive, each once.
class LiveSteps {
 public:
  void add(const Credential& credential) {
    const auto wire = credential.wire();
    const std::string_view bytes(reinterpret_cast<const char*>(wire.data()), wire.size());
    if (credential.built() && seen_.insert(bytes).second) list_.push_back(&credential);
  }
  [[nodiscard]] std::span<const Credential* const> list() const noexcept { return list_; }

 private:
  std::unordered_set<std::string_view> seen_;  ///< views into the credentials
  std::vector<const Credential*> list_;
};

}  // namespace

Result<InterconnectController*> SwitchService::controller() {
  return controller_.get([this] { return make_role(backend().make_interconnect_controller); });
}

Result<> SwitchService::restore(const Restore& request) {
  const std::lock_guard lock(restore_mutex_);
  frozen_ = false;
  pending_ = false;
  if (request.recover && request.steps_follow && request.directory) {
    pending_directory_ = *request.directory;
    take_candidates();  // those were messages: the live steps are named by step_allocated
    collecting_ = false;
    pending_ = true;
    return {};
  }
  if (!request.recover || !request.directory) {  // cold start: no step survived
    take_candidates();
    ledger_.clear();
  }
  return load(request.directory);
}

Result<> SwitchService::finish_restore() {
  if (!pending_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(restore_mutex_);
  if (!pending_) return {};
  auto loaded = load(pending_directory_);
  if (loaded) pending_.store(false, std::memory_order_release);
  return loaded;
}

/// Candidates become owners once the controller has matched them with its state.
Result<> SwitchService::load(const std::optional<std::string>& directory) {
  const auto handles = take_candidates();
  const auto held = ledger_.all();  // built by this process, and still owned
  LiveSteps live;
  for (const auto& grant : held) live.add(grant->credential);
  for (const JobInfo* handle : handles) live.add(handle->value.credential);
  auto role = controller();
  if (!role) return propagate(std::move(role));
  if (auto loaded = (*role)->load(directory, live.list()); !loaded) {
    for (JobInfo* handle : handles) note_candidate(handle);
    return loaded;
  }
  directory_ = directory;
  collecting_ = false;
  for (JobInfo* handle : handles) {
    handle->value.candidate = false;
    own(handle);
  }
  return {};
}

void SwitchService::own(JobInfo* handle) {
  if (!handle->value.credential.built()) return;
  handle->value.grant = ledger_.add(handle->value.credential);
  ++handle->value.grant->owners;
}

Result<> SwitchService::save(const std::string& directory) {
  if (auto ready = finish_restore(); !ready) return ready;
  auto role = controller();
  if (!role) return propagate(std::move(role));
  auto saved = (*role)->save(directory);
  if (!saved) return saved;
  frozen_ = true;
  collecting_ = true;  // a backup controller stands by now, and may restore again
  return saved;
}

Result<> SwitchService::clear_grants() {
  auto role = controller();
  if (!role) return propagate(std::move(role));
  auto cleared = (*role)->clear();
  if (cleared) ledger_.clear();
  return cleared;
}

Result<> SwitchService::build(JobInfo* handle, const StepRequest& request) {
  if (handle == nullptr) {
    return fail(Errc::invalid_argument, EINVAL, "there is no credential to build");
  }
  if (handle->value.credential.built()) {
    return fail(Errc::busy, EBUSY, "this credential is built already");
  }
  auto layout = layout_of(request);
  if (!layout) return propagate(std::move(layout));
  if (auto ready = finish_restore(); !ready) return ready;
  auto role = controller();
  if (!role) return propagate(std::move(role));
  auto credential = (*role)->build_credential(*layout);
  if (!credential) return propagate(std::move(credential));
  collecting_ = false;  // this process grants: what it receives from now on is not its own
  frozen_ = false;
  handle->value.credential = *std::move(credential);
  own(handle);
  return {};
}

Result<> SwitchService::release(Grant& grant) {
  if (grant.holder != ::getpid()) return {};
  if (grant.released.exchange(true)) return {};
  auto role = controller();
  if (!role) return propagate(std::move(role));
  auto released = (*role)->release(grant.credential);
  if (released) {
    ledger_.remove(grant);
  } else {
    grant.released = false;  // the other of step_complete and free tries again
  }
  return released;
}

Result<> SwitchService::step_complete(JobInfo* handle) {
  if (handle == nullptr || !handle->value.credential.built() || frozen_.load()) return {};
  if (auto ready = finish_restore(); !ready) return ready;
  const auto grant =
      handle->value.grant != nullptr ? handle->value.grant : ledger_.find(handle->value.credential);
  return grant != nullptr ? release(*grant) : Result<>{};
}

Result<> SwitchService::step_allocated(JobInfo* handle) {
  if (handle == nullptr || !handle->value.credential.built()) return {};
  if (handle->value.grant != nullptr) return {};
  note_candidate(handle);
  if (pending_.load(std::memory_order_acquire)) return {};
  const std::lock_guard lock(restore_mutex_);
  return load(directory_);
}

Result<bool> SwitchService::delays_scheduling() {
  auto role = controller();
  if (!role) return propagate(std::move(role));
  return (*role)->delays_scheduling();
}

}  // namespace hal::plugin
