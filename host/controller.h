// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "hal/result.h"
#include "host/classic_records.h"
#include "host/plugin_set.h"
#include "host/state_directory.h"
#include "host/step_ledger.h"
#include "host/step_request.h"

namespace hal::host {

/// One line for the person who runs the command.
using Say = std::function<void(const std::string& line)>;

/// The controller's part of one step: takes the shared state up, releases what dead runs left,
/// allocates and packs the credential, and gives it back at the end. The shared state is held only
/// inside `begin` and `end`.
class Controller {
 public:
  Controller(PluginSet& plugins, StateDirectory& state, const StepRequest& request, Say say)
      : plugins_(plugins), state_(state), request_(request), say_(std::move(say)) {}

  /// Rows 1-3 of the document's step, after restore. On failure nothing stays allocated.
  /// @return kind of errno; `code` may be the switch plugin's own.
  [[nodiscard]] Result<> begin();

  /// Completion: the whole node list, then the credential is freed and the state saved.
  void end();

  [[nodiscard]] JobId job() const noexcept { return job_; }
  [[nodiscard]] StepId step() const noexcept { return StepId{0}; }
  [[nodiscard]] std::span<const std::byte> packed() const noexcept { return packed_.wire(); }
  [[nodiscard]] StepLedger& ledger() noexcept { return *ledger_; }

 private:
  /// A credential that was unpacked from a ledger.
  struct Recovered {
    void* credential = nullptr;
    StepHolding holding;
    std::string name;
    bool dead = false;
  };

  [[nodiscard]] Result<> take_up(std::vector<Recovered>& recovered);
  [[nodiscard]] Result<std::vector<Recovered>> recover();
  [[nodiscard]] bool unpack(Recovered& one);
  [[nodiscard]] Result<> restore();
  void release_dead(std::vector<Recovered>& recovered);
  void keep_others(const std::vector<Recovered>& recovered);
  void free_others();
  void give_up_credentials();
  [[nodiscard]] Result<> restart();
  [[nodiscard]] Result<> build();
  [[nodiscard]] Result<> build_credential();
  [[nodiscard]] Result<> pack_copy();
  [[nodiscard]] Result<> open_ledger();
  void drop_credential();
  void account(bool start);
  [[nodiscard]] Error switch_error(const std::string& call, int error_number) const;
  [[nodiscard]] bool late() const noexcept { return request_.shape == StepShape::late; }

  PluginSet& plugins_;
  StateDirectory& state_;
  const StepRequest& request_;
  Say say_;
  JobId job_{};
  std::uint64_t generation_ = 0;  ///< of the shared state, as this process knows it
  void* credential_ = nullptr;
  bool allocated_ = false;
  Credential packed_;
  std::string nodes_;
  std::vector<void*> others_;  ///< credentials of other runs' steps, held while this one lives
  std::optional<StepLedger> ledger_;
  std::optional<JobRecord> record_;
  std::int64_t started_ = 0;
};

}  // namespace hal::host
