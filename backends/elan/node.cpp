// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <map>
#include <unistd.h>

#include "backends/elan/device.h"
#include "backends/elan/elan_hosts.h"
#include "backends/elan/error_service.h"
#include "backends/elan/rms.h"
#include "backends/elan/statistics.h"
#include "hal/interconnect.h"

namespace hal::elan {
namespace {

constexpr int kCapabilityIndex = 0;

struct Options {
  Flavour flavour;
  std::string librmscall;
  std::string control_library;
  std::string libelan3;
  std::string elanhosts;
  std::string elan3_device;
  RetryLimit open_limit;
  EndPolicy end;
};

std::string name_of(const Capability& capability) {
  return "Elan program " + std::to_string(capability.program);
}

Result<> added(int result, const Capability& capability) {
  if (result == 0) return {};
  const int reason = errno;
  Result<> failed = fail_errno(reason, "rms_prgaddcap of " + name_of(capability));
  if (reason == ESRCH) failed.error().code = kSearchAddCap;
  if (reason == EFAULT) failed.error().code = kFaultAddCap;
  return failed;
}

/// A program outlives every process but its members, none of which can destroy it. So the process
/// shape decides who does: with two managers the one that prepared, which is no member, in
/// destroy_context; with one manager, which prepares and opens, a watcher that waits for its death.
class ElanNode final : public InterconnectNode {
 public:
  ElanNode(Options options, Host& host)
      : options_(std::move(options)),
        host_(host),
        rms_(options_.librmscall),
        device_(options_.flavour, options_.control_library),
        service_(options_.libelan3) {}

  Result<> start() override;
  Result<> stop() override { return service_.stop(); }
  Result<> clear() override;
  Result<NodeRecord> record() override { return NodeRecord{}; }
  Result<> prepare(const Credential& credential) override;
  Result<> open_context(const Credential& credential, uid_t owner) override;
  Result<EnvUpdates> attach(const Credential& credential, const TaskPlace& task) override;
  Result<> leave(const Credential& credential) override;
  Result<> destroy_context(const Credential& credential, const DestroyContext& context) override;
  Result<> suspend(const Credential& credential) override { return stop_or_go(credential, true); }
  Result<> resume(const Credential& credential) override { return stop_or_go(credential, false); }

 private:
  [[nodiscard]] Result<Capability> read(const Credential& credential) const;
  [[nodiscard]] bool needs_watcher() const;
  [[nodiscard]] Result<> create_program(const RmsApi& rms, const Capability& capability,
                                        uid_t owner, const UniqueFd& watcher);
  [[nodiscard]] Result<> stop_or_go(const Credential& credential, bool stop);

  const Options options_;
  Host& host_;
  Rms rms_;
  ElanDevice device_;
  ErrorService service_;
  pid_t prepared_by_ = 0;  ///< inherited by the session manager, and so tells the process shape
  std::map<std::uint32_t, ControlHandle> handles_;  ///< by program; each keeps a capability alive
};

Result<Capability> ElanNode::read(const Credential& credential) const {
  auto capability = read_capability(credential);
  if (capability && capability->flavour != options_.flavour) {
    return fail(Errc::corrupt, kBadMagicJobInfo,
                "Elan credential of the other flavour: set the same `flavour` on all hosts");
  }
  return capability;
}

Result<> ElanNode::start() {
  if (options_.flavour != Flavour::elan3 && ::access(options_.elan3_device.c_str(), F_OK) != 0) {
    return {};  // no Elan3 adapter: nothing to serve
  }
  auto hosts = ElanHosts::load(options_.elanhosts);
  if (!hosts) return propagate(std::move(hosts));
  return service_.start(*hosts);
}

Result<> ElanNode::clear() {
  auto rms = rms_.api();
  if (!rms) return propagate(std::move(rms));
  auto programs = programs_of_node(**rms);
  if (!programs) return propagate(std::move(programs));
  const auto own = own_program(**rms);
  Result<> outcome;
  for (const int program : *programs) {
    if (own && program == *own) continue;
    const EndPolicy at_once{std::chrono::milliseconds(0), options_.end.limit};
    auto destroyed = destroy_program(**rms, program, at_once, host_.clock());
    if (!destroyed && outcome) outcome = std::move(destroyed);
  }
  rms_.close();
  return outcome;
}

Result<> ElanNode::prepare(const Credential& credential) {
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  prepared_by_ = ::getpid();
  return {};
}

bool ElanNode::needs_watcher() const { return prepared_by_ == ::getpid(); }

Result<> ElanNode::create_program(const RmsApi& rms, const Capability& capability, uid_t owner,
                                  const UniqueFd& watcher) {
  const int program = static_cast<int>(capability.program);
  if (rms.prgcreate(program, owner, 1) != 0) {
    const int reason = errno;
    if (reason != EINVAL) return fail_errno(reason, "rms_prgcreate of " + name_of(capability));
    return fail(Errc::busy, kInvalidProgramCreate,
                "rms_prgcreate of " + name_of(capability) + ": the number is in use on this node");
  }
  return watcher ? give_to_watcher(watcher, program) : Result<>();
}

Result<> ElanNode::open_context(const Credential& credential, uid_t owner) {
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  auto rms = rms_.api();
  if (!rms) return propagate(std::move(rms));
  if (auto loaded = device_.load(); !loaded) return loaded;

  // First of all, so that the watcher shares nothing of the step.
  auto watcher = needs_watcher() ? start_watcher(**rms, options_.end) : Result<UniqueFd>();
  if (!watcher) return propagate(std::move(watcher));
  NativeCapability native(credential, *capability);
  auto handle = device_.create(native, *capability, options_.open_limit, host_.clock());
  if (!handle) return propagate(with_context(std::move(handle), name_of(*capability)));
  if (auto created = create_program(**rms, *capability, owner, *watcher); !created) return created;
  // From here on only a process outside the program can destroy it: see the class.
  const int program = static_cast<int>(capability->program);
  if (auto result =
          added((*rms)->prgaddcap(program, kCapabilityIndex, native.address()), *capability);
      !result) {
    return result;
  }
  if (auto made = create_statistics(*capability, owner); !made) {
    // Nodes that share one machine share its segments: the second one of a step runs without.
    const bool present = made.error().code == EEXIST;
    host_.log(present ? LogLevel::verbose : LogLevel::warning,
              name_of(*capability) + " runs without a statistics segment: " + made.error().detail);
  }
  handles_.insert_or_assign(capability->program, std::move(*handle));
  return {};
}

Result<EnvUpdates> ElanNode::attach(const Credential& credential, const TaskPlace& task) {
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  auto rms = rms_.api();
  if (!rms) return propagate(std::move(rms));
  int program = 0;
  if ((*rms)->getprgid(0, &program) != 0) {
    return fail_errno(errno, "task is in no RMS program (rms_getprgid)");
  }
  if (std::cmp_not_equal(program, capability->program)) {
    return fail(Errc::not_found, ESRCH,
                "task is in RMS program " + std::to_string(program) + ", not in " +
                    std::to_string(capability->program));
  }
  if (task.local_id >= capability->contexts()) {
    return fail(Errc::invalid_argument, kInvalidSetCap,
                "task " + std::to_string(task.local_id) + " of this node: " + name_of(*capability) +
                    " has " + std::to_string(capability->contexts()) + " contexts a node");
  }
  if ((*rms)->setcap(kCapabilityIndex, static_cast<int>(task.local_id)) != 0) {
    const int reason = errno;
    Result<> failed = fail_errno(reason, "rms_setcap of " + name_of(*capability));
    if (reason == EINVAL) failed.error().code = kInvalidSetCap;
    if (reason == EFAULT) failed.error().code = kFaultSetCap;
    return propagate(std::move(failed));
  }
  EnvUpdates environment{{"RMS_RANK", std::to_string(task.rank)},
                         {"RMS_PROCID", std::to_string(task.rank)},
                         {"RMS_NODEID", std::to_string(task.node_index)},
                         {"RMS_NNODES", std::to_string(task.node_count)},
                         {"RMS_NPROCS", std::to_string(task.task_count)}};
  if (has_statistics(*capability)) {
    environment.emplace_back("ELAN_STATKEY", std::to_string(capability->statistics_key()));
  }
  return environment;
}

Result<> ElanNode::leave(const Credential& credential) {
  if (!credential.built()) return {};
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  remove_statistics(*capability);
  return {};
}

Result<> ElanNode::destroy_context(const Credential& credential, const DestroyContext&) {
  if (!credential.built()) return {};
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  auto rms = rms_.api();
  if (!rms) return propagate(std::move(rms));
  auto own = own_program(**rms);
  if (!own) return propagate(std::move(own));
  const int program = static_cast<int>(capability->program);
  auto ended = *own == program ? end_other_members(**rms, program, options_.end, host_.clock())
                               : destroy_program(**rms, program, options_.end, host_.clock());
  if (!ended) return ended;
  remove_statistics(*capability);
  handles_.erase(capability->program);
  return {};
}

Result<> ElanNode::stop_or_go(const Credential& credential, bool stop) {
  auto capability = read(credential);
  if (!capability) return propagate(std::move(capability));
  auto rms = rms_.api();
  if (!rms) return propagate(std::move(rms));
  auto own = own_program(**rms);
  if (!own) return propagate(std::move(own));
  const int program = static_cast<int>(capability->program);
  if (*own == program) {  // as a member, the vendor's call would stop the caller too
    return signal_other_members(**rms, program, stop ? SIGSTOP : SIGCONT);
  }
  auto suspend = rms_.suspend_api();
  if (!suspend) return propagate(std::move(suspend));
  const int result = stop ? (*suspend)->prgsuspend(program) : (*suspend)->prgresume(program);
  if (result == 0) return {};
  const int reason = errno;
  Result<> failed = fail_errno(
      reason, (stop ? "rms_prgsuspend of " : "rms_prgresume of ") + name_of(*capability));
  if (reason == ESRCH) failed.error().code = kSearchProgramSignal;
  return failed;
}

/// Reads the options; the first bad one is kept as the failure of all.
class OptionReader {
 public:
  explicit OptionReader(const BackendConfig& config) : config_(config) {}

  std::string library(std::string_view key, std::string_view fallback) {
    const std::string value = config_.get(key, fallback);
    return value.find('/') == std::string::npos ? value : path(key, fallback);
  }
  std::string path(std::string_view key, std::string_view fallback) {
    auto value = keep(config_.get_path(key));
    return value.empty() ? std::string(fallback) : value;
  }
  std::chrono::milliseconds time(std::string_view key, std::uint64_t fallback) {
    constexpr std::uint64_t kLongest = 600'000;
    return std::chrono::milliseconds(keep(config_.get_number(key, fallback, 0, kLongest)));
  }
  Flavour flavour() { return keep(flavour_of(config_)); }
  [[nodiscard]] Result<>& outcome() { return outcome_; }

 private:
  template <class T>
  T keep(Result<T>&& value) {
    if (value) return std::move(*value);
    if (outcome_) outcome_ = propagate(std::move(value));
    return T{};
  }

  const BackendConfig& config_;
  Result<> outcome_;
};

}  // namespace

Result<std::unique_ptr<InterconnectNode>> make_node(const BackendContext& context) {
  OptionReader reader(context.config);
  Options options{.flavour = reader.flavour(),
                  .librmscall = reader.library("librmscall", "librmscall.so"),
                  .control_library = reader.library("libelanctrl", "libelanctrl.so"),
                  .libelan3 = reader.library("libelan3", "libelan3.so"),
                  .elanhosts = reader.path("elanhosts", kDefaultElanHosts),
                  .elan3_device = reader.path("elan3_device", "/proc/qsnet/elan3/device0"),
                  .open_limit = {.total = reader.time("open_wait_ms", 2000)},
                  .end = {.grace = reader.time("term_grace_ms", 2000),
                          .limit = {.total = reader.time("destroy_wait_ms", 30'000)}}};
  if (!reader.outcome()) return propagate(std::move(reader.outcome()));
  if (options.flavour == Flavour::elan3) options.control_library = options.libelan3;
  return std::make_unique<ElanNode>(std::move(options), context.host);
}

}  // namespace hal::elan
