// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "hal/result.h"
#include "hal/types.h"
#include "hal/vendor_library.h"
#include "host/step_messages.h"
#include "host/step_request.h"

namespace hal::host {

/// One process, told from a later one with the same number by its start time.
struct ProcessMark {
  pid_t pid = 0;
  std::uint64_t start_time = 0;

  [[nodiscard]] bool operator==(const ProcessMark&) const = default;
};

/// What a step holds on one node.
struct NodeHolding {
  ProcessMark manager;
  ProcessMark session;
  pid_t process_group = 0;
  std::uint64_t container_id = 0;
  std::vector<ProcessMark> tasks;
  bool ended = false;  ///< everything of this node was given back
};

/// What a step holds, as its ledger says.
struct StepHolding {
  ProcessMark owner;  ///< the launcher
  std::string boot;
  JobId job{};
  StepId step{};
  StepShape shape = StepShape::v0;
  std::map<std::string, std::string> plugins;  ///< family -> type
  std::string nodes;                           ///< list expression
  Credential credential;                       ///< packed
  std::map<std::uint32_t, NodeHolding> by_node;

  [[nodiscard]] bool same_boot() const;
  [[nodiscard]] bool owner_alive() const;
};

/// The ledger of one running step: a text file of checksummed lines that only grows, so that a
/// process killed at any moment leaves every finished line readable. Written without sync: it has
/// to outlive its writer, not the machine. 0600, because it holds the credential.
class StepLedger {
 public:
  /// Creates `<directory>/<job>.<step>` with its first lines.
  /// @return kind of errno: names the file.
  [[nodiscard]] static Result<StepLedger> create(int directory_fd, const StepHolding& holding);

  void manager_started(std::uint32_t node, const ProcessMark& manager);
  void session_ready(std::uint32_t node, const ProcessMark& session, const SessionReady& ready);
  void tasks_started(std::uint32_t node, std::span<const TaskBirth> tasks);
  void node_ended(std::uint32_t node);

  /// The step holds nothing any more.
  void remove();

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

 private:
  void append(std::string_view line);

  int directory_fd_ = -1;
  std::string name_;
  UniqueFd fd_;
};

/// Name of a step's ledger.
[[nodiscard]] std::string ledger_name(JobId job, StepId step);

/// Decodes the text of a ledger; a torn or damaged line ends it. @return corrupt: no usable head.
[[nodiscard]] Result<StepHolding> parse_ledger(std::string_view text);

/// A ledger found in the directory.
struct FoundLedger {
  std::string name;
  Result<StepHolding> holding;
};

/// All ledgers in the directory, by name.
[[nodiscard]] Result<std::vector<FoundLedger>> read_ledgers(int directory_fd);

}  // namespace hal::host
