// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <cstring>
#include <mutex>

#include "backends/elan/capability.h"
#include "backends/elan/elan_hosts.h"
#include "backends/elan/key_pool.h"
#include "backends/elan/saved_state.h"
#include "hal/interconnect.h"
#include "hal/state_file.h"

namespace hal::elan {
namespace {

std::uint32_t random_program() {
  const Secret bytes = Secret::random(sizeof(std::uint32_t));
  std::uint32_t number;
  std::memcpy(&number, bytes.expose().data(), sizeof number);
  return number % kMaxProgram + 1;
}

std::uint32_t program_after(std::uint32_t program) {
  return program >= kMaxProgram ? 1 : program + 1;
}

AllocationState clean_state() { return {RangeAllocator(kContextCount), random_program()}; }

struct Options {
  Flavour flavour;
  bool no_frag;
  bool strict_state;
};

class ElanController final : public InterconnectController {
 public:
  ElanController(const Options& options, std::string elanhosts, Host& host)
      : options_(options), host_(host), hosts_(std::move(elanhosts), host) {}

  Result<> load(const std::optional<std::string>& directory,
                std::span<const Credential* const> recovered) override;
  Result<> save(const std::string& directory) override;
  Result<Credential> build_credential(const StepLayout& layout) override;
  Result<> release(const Credential& credential) override;
  Result<> clear() override;

  Result<> accept_node_record(const NodeRecord& record) override {
    if (record.wire.empty()) return {};
    return fail(Errc::corrupt, kBadMagicJobInfo,
                "Elan node record of " + std::to_string(record.wire.size()) +
                    " bytes: Elan nodes report nothing");
  }

  bool delays_scheduling() const override { return options_.no_frag; }

 private:
  [[nodiscard]] Result<AllocationState> read_state(const StateFile& file) const;
  void reconcile(AllocationState& state, std::span<const Credential* const> recovered) const;
  void adopt(AllocationState& state, const AllocationState& saved, const Credential& step) const;
  [[nodiscard]] std::uint32_t free_program() const;
  [[nodiscard]] Result<> write() const;

  const Options options_;
  Host& host_;
  std::mutex mutex_;  ///< guards everything below; held while the state file is written
  ElanHostsFile hosts_;
  KeyPool keys_;
  AllocationState state_ = clean_state();
  std::optional<StateFile> file_;
  std::vector<NodeRun> runs_;  ///< scratch of build_credential
};

Result<AllocationState> ElanController::read_state(const StateFile& file) const {
  auto content = file.read();
  if (!content && content.error().kind != Errc::corrupt) return propagate(std::move(content));
  if (content && !*content) {
    host_.log(LogLevel::verbose, "Elan: no saved switch state in " + file.path() + ": clean start");
    return clean_state();
  }
  auto state =
      content
          ? decode_state(**content)
          : Result<AllocationState>(fail(Errc::corrupt, kBadMagicLibState, content.error().detail));
  if (state) return state;
  const bool foreign = state.error().kind == Errc::unsupported;
  if (auto kept = file.keep_aside(); !kept) {
    host_.log(LogLevel::warning, "Elan: cannot keep a copy: " + kept.error().detail);
  }
  if (!foreign && options_.strict_state) return with_context(std::move(state), file.path());
  host_.log(foreign ? LogLevel::warning : LogLevel::error,
            file.path() + ": " + state.error().detail + ": kept as " + kStateFileName +
                ".bad, starting from the running steps");
  return clean_state();
}

/// Puts the grant of a running step into `state`: as it was saved, or as its credential tells.
void ElanController::adopt(AllocationState& state, const AllocationState& saved,
                           const Credential& step) const {
  const auto read = read_capability(step);
  if (!read) {
    if (step.built()) host_.log(LogLevel::error, "Elan: running step: " + read.error().detail);
    return;
  }
  RangeAllocator::Grant grant{
      .nodes = {}, .first = read->low_context - kFirstContext, .count = read->contexts()};
  const RangeAllocator::Grant* known = saved.contexts.find(read->program);
  const bool same = known != nullptr && known->first == grant.first &&
                    known->count == grant.count && known->nodes.lowest() == read->low_node &&
                    known->nodes.highest() == read->high_node;
  grant.nodes = same ? known->nodes : nodes_of(step.wire(), *read);
  if (auto reserved = state.contexts.reserve(read->program, std::move(grant)); !reserved) {
    host_.log(LogLevel::error, "Elan: running step of program " + std::to_string(read->program) +
                                   ": " + reserved.error().detail);
  }
}

void ElanController::reconcile(AllocationState& state,
                               std::span<const Credential* const> recovered) const {
  AllocationState live{RangeAllocator(kContextCount), state.next_program};
  live.contexts.set_cursor(state.contexts.cursor());
  for (const Credential* step : recovered) {
    if (step != nullptr) adopt(live, state, *step);
  }
  state = std::move(live);
}

Result<> ElanController::load(const std::optional<std::string>& directory,
                              std::span<const Credential* const> recovered) {
  const std::scoped_lock lock(mutex_);
  std::optional<StateFile> file;
  auto state = clean_state();
  if (directory) {
    file.emplace(*directory, kStateFileName);
    auto read = read_state(*file);
    if (!read) return propagate(std::move(read));
    state = std::move(*read);
  }
  reconcile(state, recovered);
  // A map that cannot be read is the business of the first build.
  static_cast<void>(hosts_.refreshed());
  state_ = std::move(state);
  file_ = std::move(file);
  return {};
}

Result<> ElanController::save(const std::string& directory) {
  const std::scoped_lock lock(mutex_);
  return StateFile(directory, kStateFileName).write(encode_state(state_));
}

Result<> ElanController::write() const {
  return file_ ? file_->write(encode_state(state_)) : Result<>();
}

std::uint32_t ElanController::free_program() const {
  std::uint32_t program = state_.next_program;
  while (state_.contexts.find(program) != nullptr) program = program_after(program);
  return program;
}

Result<Credential> ElanController::build_credential(const StepLayout& layout) {
  const std::scoped_lock lock(mutex_);
  auto hosts = hosts_.current();
  if (!hosts) return propagate(std::move(hosts));
  if (auto found = (*hosts)->resolve(layout.nodes(), runs_); !found) {
    const auto fresh = hosts_.refreshed();  // a node may have been added a moment ago
    if (!fresh || !(*fresh)->resolve(layout.nodes(), runs_)) return propagate(std::move(found));
  }
  if (auto fits = check_fit(options_.flavour, layout, runs_); !fits) {
    return propagate(std::move(fits));
  }
  std::vector<NodeSet::Interval> intervals;
  intervals.reserve(runs_.size());
  for (const NodeRun& run : runs_) intervals.push_back({run.first, run.first + run.count - 1});

  const std::uint32_t cursor = state_.contexts.cursor();
  const std::uint32_t next_program = state_.next_program;
  const std::uint32_t program = free_program();
  const auto first =
      state_.contexts.allocate(program, NodeSet(std::move(intervals)), layout.max_tasks_per_node());
  if (!first)
    return fail(first.error().kind, first.error().code, "Elan contexts: " + first.error().detail);
  state_.next_program = program_after(program);
  if (auto written = write(); !written) {
    state_.contexts.release(program);
    state_.contexts.set_cursor(cursor);
    state_.next_program = next_program;
    return propagate(with_context(std::move(written), "Elan grant not recorded"));
  }
  std::array<std::byte, kKeySize> key;
  keys_.take(key);
  auto credential = build_capability({options_.flavour, program, *first, layout, runs_}, key);
  wipe(key);
  return credential;
}

Result<> ElanController::release(const Credential& credential) {
  if (!credential.built()) return {};
  auto read = read_capability(credential);
  if (!read) return propagate(std::move(read));
  const std::scoped_lock lock(mutex_);
  const RangeAllocator::Grant* grant = state_.contexts.find(read->program);
  if (grant == nullptr || grant->first != read->low_context - kFirstContext ||
      grant->count != read->contexts() || grant->nodes.lowest() != read->low_node ||
      grant->nodes.highest() != read->high_node) {
    return {};
  }
  state_.contexts.release(read->program);
  if (auto written = write(); !written) {
    // Harmless: the next load drops grants that no running step has.
    host_.log(LogLevel::warning, "Elan: release of program " + std::to_string(read->program) +
                                     " not recorded: " + written.error().detail);
  }
  return {};
}

Result<> ElanController::clear() {
  const std::scoped_lock lock(mutex_);
  state_.contexts.clear();
  return write();
}

}  // namespace

Result<std::unique_ptr<InterconnectController>> make_controller(const BackendContext& context) {
  auto flavour = flavour_of(context.config);
  if (!flavour) return propagate(std::move(flavour));
  auto no_frag = context.config.get_flag("no_frag", true);
  if (!no_frag) return propagate(std::move(no_frag));
  auto strict = context.config.get_flag("strict_state", false);
  if (!strict) return propagate(std::move(strict));
  auto elanhosts = context.config.get_path("elanhosts");
  if (!elanhosts) return propagate(std::move(elanhosts));
  if (elanhosts->empty()) *elanhosts = kDefaultElanHosts;
  return std::make_unique<ElanController>(Options{*flavour, *no_frag, *strict},
                                          std::move(*elanhosts), context.host);
}

}  // namespace hal::elan
