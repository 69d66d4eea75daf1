// SPDX-License-Identifier: BSD-3-Clause
#include "host/controller.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <memory>
#include <unistd.h>
#include <utility>

#include "host/crash_sweep.h"
#include "host/descendants.h"
#include "host/node_step.h"

namespace hal::host {
namespace {

constexpr std::uint32_t kRunning = 1;
constexpr std::uint32_t kComplete = 3;

std::map<std::string, std::string> types_of(const PluginSet& plugins) {
  return {{"switch", plugins.interconnect.plugin().type()},
          {"proctrack", plugins.proctrack.plugin().type()},
          {"job_container", plugins.job_container.plugin().type()},
          {"core_spec", plugins.core_spec.plugin().type()},
          {"jobacct", plugins.jobacct.plugin().type()}};
}

}  // namespace

Result<> Controller::begin() {
  nodes_ = request_.layout.nodes().ranged();
  auto lock = state_.lock();
  if (!lock) return propagate(std::move(lock));
  std::vector<Recovered> recovered;
  if (auto taken = take_up(recovered); !taken) return taken;
  release_dead(recovered);
  keep_others(recovered);
  auto job = lock->take_job();
  if (!job) return propagate(std::move(job));
  job_ = *job;
  generation_ = lock->counters().generation;
  (void)traced(plugins_, "slurmctld_jobacct_init", plugins_.jobacct->controller_init,
               plugins_.jobacct_location.data(), plugins_.jobacct_parameters.data());
  account(true);
  auto built = build();
  if (!built) account(false);
  return built;
}

Result<> Controller::take_up(std::vector<Recovered>& recovered) {
  auto found = recover();
  if (!found) return propagate(std::move(found));
  recovered = std::move(*found);
  if (!late()) {
    // Version 0 hands the running steps' credentials over before it restores.
    std::erase_if(recovered, [&](Recovered& one) { return !unpack(one); });
    return restore();
  }
  if (plugins_.interconnect->slurmctld_init != nullptr) {
    (void)traced(plugins_, "switch_p_slurmctld_init", plugins_.interconnect->slurmctld_init);
  }
  if (auto restored = restore(); !restored) return restored;
  std::erase_if(recovered, [&](Recovered& one) { return !unpack(one); });
  for (auto& one : recovered) {
    if (plugins_.interconnect->job_step_allocated == nullptr) break;
    (void)traced(plugins_, "switch_p_job_step_allocated", plugins_.interconnect->job_step_allocated,
                 one.credential, static_cast<char*>(nullptr));
  }
  return {};
}

/// The other steps of this directory that hold something of this switch type.
Result<std::vector<Controller::Recovered>> Controller::recover() {
  auto ledgers = read_ledgers(state_.ledgers());
  if (!ledgers) return propagate(std::move(ledgers));
  std::vector<Recovered> recovered;
  for (auto& ledger : *ledgers) {
    if (!ledger.holding) {
      say_(ledger.holding.error().detail + "; it is ignored, remove it when its step is gone");
      continue;
    }
    auto& holding = *ledger.holding;
    const bool dead = !holding.owner_alive();
    if (holding.plugins["switch"] != plugins_.interconnect.plugin().type()) {
      if (dead) {
        say_("step " + ledger.name + " of a run that died is left alone: it used " +
             holding.plugins["switch"] + "; run a step with that to release it");
      }
      continue;
    }
    recovered.push_back({.holding = std::move(holding), .name = ledger.name, .dead = dead});
  }
  return recovered;
}

bool Controller::unpack(Recovered& one) {
  auto& calls = *plugins_.interconnect.operator->();
  (void)traced(plugins_, "switch_p_alloc_jobinfo", calls.alloc_jobinfo, &one.credential);
  ClassicBuf buffer(one.holding.credential.wire());
  if (traced(plugins_, "switch_p_unpack_jobinfo", calls.unpack_jobinfo, one.credential,
             buffer.handle()) == 0) {
    return true;
  }
  const auto error = switch_error("unpack of the credential", errno);
  say_("ledger " + one.name + ": " + error.detail);
  traced(plugins_, "switch_p_free_jobinfo", calls.free_jobinfo, one.credential);
  return false;
}

Result<> Controller::restore() {
  std::string directory = state_.path();
  auto& calls = *plugins_.interconnect.operator->();
  const int result = late() ? traced(plugins_, "switch_p_libstate_restore",
                                     calls.libstate_restore_late, directory.data(), true)
                            : traced(plugins_, "switch_p_libstate_restore", calls.libstate_restore,
                                     directory.data());
  if (result == 0) return {};
  return Failure(switch_error("restore of the state in '" + directory + "'", errno));
}

void Controller::release_dead(std::vector<Recovered>& recovered) {
  for (auto& one : recovered) {
    if (!one.dead) continue;
    const auto released = release_dead_nodes(plugins_, one.holding, say_);
    auto nodes = one.holding.nodes;
    (void)traced(plugins_, "switch_p_job_step_complete", plugins_.interconnect->job_step_complete,
                 one.credential, nodes.data());
    traced(plugins_, "switch_p_free_jobinfo", plugins_.interconnect->free_jobinfo, one.credential);
    if (released) ::unlinkat(state_.ledgers(), one.name.c_str(), 0);
    say_("released what step " + one.name + " of a run that died (process " +
         std::to_string(one.holding.owner.pid) + ") held on " + nodes);
  }
}

/// A recovered credential owns its grant: freed before the state is saved, it would release it.
void Controller::keep_others(const std::vector<Recovered>& recovered) {
  for (const auto& one : recovered) {
    if (!one.dead && one.holding.job != job_) others_.push_back(one.credential);
  }
}

void Controller::free_others() {
  for (void* const credential : others_) {
    traced(plugins_, "switch_p_free_jobinfo", plugins_.interconnect->free_jobinfo, credential);
  }
  others_.clear();
}

Result<> Controller::build() {
  if (auto built = build_credential(); !built) {
    drop_credential();
    return built;
  }
  auto result = pack_copy();
  if (result) result = open_ledger();
  if (!result) drop_credential();
  return result;
}

Result<> Controller::build_credential() {
  auto& calls = *plugins_.interconnect.operator->();
  if (traced(plugins_, "switch_p_alloc_jobinfo", calls.alloc_jobinfo, &credential_) < 0) {
    return Failure(switch_error("alloc of a credential", errno));
  }
  allocated_ = true;
  const auto& layout = request_.layout;
  const int cyclic = layout.distribution() == TaskDistribution::cyclic ? 1 : 0;
  const int tasks = static_cast<int>(layout.task_count());
  auto nodes = nodes_;
  int result = 0;
  if (late()) {
    std::vector<int> counts;
    for (std::uint32_t node = 0; node < layout.node_count(); ++node) {
      counts.push_back(static_cast<int>(layout.tasks_on(node)));
    }
    result = traced(plugins_, "switch_p_build_jobinfo", calls.build_jobinfo_counts, credential_,
                    nodes.data(), counts.data(), cyclic, static_cast<char*>(nullptr));
  } else {
    result = traced(plugins_, "switch_p_build_jobinfo", calls.build_jobinfo, credential_,
                    nodes.data(), tasks, cyclic);
  }
  if (result < 0) return Failure(switch_error("build of a credential", errno));
  return {};
}

Result<> Controller::pack_copy() {
  auto& calls = *plugins_.interconnect.operator->();
  void* const copy = traced(plugins_, "switch_p_copy_jobinfo", calls.copy_jobinfo, credential_);
  ClassicBuf buffer;
  const int result =
      traced(plugins_, "switch_p_pack_jobinfo", calls.pack_jobinfo, copy, buffer.handle());
  const int error = errno;
  traced(plugins_, "switch_p_free_jobinfo", calls.free_jobinfo, copy);
  if (result < 0 || !buffer.intact()) return Failure(switch_error("pack of a credential", error));
  const auto bytes = buffer.processed();
  packed_ = Credential({bytes.begin(), bytes.end()});
  return {};
}

Result<> Controller::open_ledger() {
  StepHolding holding;
  const auto self = process_facts(::getpid());
  holding.owner = {.pid = ::getpid(), .start_time = self ? self->start_time : 0};
  holding.boot = boot_id();
  holding.job = job_;
  holding.step = step();
  holding.shape = request_.shape;
  holding.plugins = types_of(plugins_);
  holding.nodes = nodes_;
  holding.credential = packed_;
  auto ledger = StepLedger::create(state_.ledgers(), holding);
  if (!ledger) return propagate(std::move(ledger));
  ledger_.emplace(std::move(*ledger));
  return {};
}

void Controller::end() {
  auto lock = state_.lock();
  if (!lock) {
    say_(lock.error().detail);
  } else if (lock->counters().generation != generation_) {
    // Another run has changed the shared state since: take it up before changing it again.
    if (auto restarted = restart(); !restarted) say_(restarted.error().detail);
  }
  drop_credential();
  std::string directory = state_.path();
  if (traced(plugins_, "switch_p_libstate_save", plugins_.interconnect->libstate_save,
             directory.data()) != 0) {
    say_(switch_error("save of the state in '" + directory + "'", errno).detail);
  }
  free_others();  // the state is saved: this releases nothing any more
  if (ledger_) ledger_->remove();
  if (lock) {
    if (auto counted = lock->count_change(); !counted) say_(counted.error().detail);
  }
  account(false);
}

/// Takes credentials of a plugin instance that is about to go. To free one would release its grant
/// in the state file, where it is another instance's by now; so they stay, and stay reachable.
void Controller::give_up_credentials() {
  static auto& given_up = *std::make_unique<std::vector<void*>>().release();
  if (credential_ != nullptr) given_up.push_back(credential_);
  given_up.insert(given_up.end(), others_.begin(), others_.end());
  credential_ = nullptr;
  others_.clear();
}

/// A controller that starts anew: its own step is then one of those that it finds in the ledgers.
Result<> Controller::restart() {
  allocated_ = false;
  give_up_credentials();
  if (auto opened = plugins_.reopen_switch(); !opened) return opened;
  std::vector<Recovered> recovered;
  if (auto taken = take_up(recovered); !taken) return taken;
  release_dead(recovered);
  keep_others(recovered);
  for (auto& one : recovered) {
    if (one.holding.job != job_) continue;
    credential_ = one.credential;
    allocated_ = true;
  }
  return {};
}

void Controller::drop_credential() {
  if (!allocated_) return;
  auto nodes = nodes_;
  (void)traced(plugins_, "switch_p_job_step_complete", plugins_.interconnect->job_step_complete,
               credential_, nodes.data());
  traced(plugins_, "switch_p_free_jobinfo", plugins_.interconnect->free_jobinfo, credential_);
  credential_ = nullptr;
  allocated_ = false;
}

void Controller::account(bool start) {
  if (start) {
    JobFacts facts;
    facts.job_id = to_number(job_);
    facts.name = request_.command.front().substr(request_.command.front().rfind('/') + 1);
    facts.partition = "local";
    facts.uid = request_.owner.uid;
    facts.gid = request_.owner.gid;
    facts.state = kRunning;
    facts.nodes = nodes_;
    facts.task_count = request_.layout.task_count();
    facts.start_time = facts.submit_time = std::time(nullptr);
    facts.node_count =
        static_cast<std::uint16_t>(std::min<std::uint32_t>(request_.layout.node_count(), 0xffff));
    facts.cpus_per_node = request_.layout.max_tasks_per_node();
    started_ = facts.start_time;
    record_.emplace(late() ? JobRecordLayout::v1_0_16 : JobRecordLayout::v0_5, facts);
    (void)traced(plugins_, "slurmctld_jobacct_job_start", plugins_.jobacct->job_start,
                 record_->handle());
    return;
  }
  if (!record_) return;
  record_->set_state(kComplete);
  record_->set_times(started_, std::time(nullptr));
  (void)traced(plugins_, "slurmctld_jobacct_job_complete", plugins_.jobacct->job_complete,
               record_->handle());
}

Error Controller::switch_error(const std::string& call, int error_number) const {
  return fail(kind_of_errno(error_number), error_number,
              plugins_.interconnect.plugin().type() + ": " + call + ": " +
                  switch_error_text(plugins_, error_number))
      .value();
}

}  // namespace hal::host
