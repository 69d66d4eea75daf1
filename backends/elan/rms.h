// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "backends/elan/vendor_api.h"
#include "hal/host.h"
#include "hal/result.h"
#include "hal/retry.h"

namespace hal::elan {

/// librmscall, opened on first use. The library keeps a descriptor of its own, which a forked child
/// must not share with hosts that close what they do not know: it is made anew in each process.
class Rms {
 public:
  explicit Rms(std::string library) : path_(std::move(library)) {}

  /// @return no_device (3007): library or symbol missing; the kind of errno: no RMS module.
  [[nodiscard]] Result<const RmsApi*> api();

  /// @return unsupported: this librmscall cannot suspend.
  [[nodiscard]] Result<const RmsSuspendApi*> suspend_api();

  /// Closes the library's descriptor; the next `api` opens it again. Daemons call this so that
  /// step processes inherit none.
  void close() noexcept;

 private:
  std::string path_;
  VendorLibrary library_;
  RmsApi api_;
  RmsSuspendApi suspend_;
  pid_t pid_ = 0;  ///< process in which the library's descriptor was opened
};

/// How the members of a program are ended.
struct EndPolicy {
  std::chrono::milliseconds grace;  ///< between SIGTERM and SIGKILL; 0: SIGKILL at once
  RetryLimit limit;
};

/// Program of the calling process, 0 when there is none.
[[nodiscard]] Result<int> own_program(const RmsApi& rms);

/// Member pids of `program`; empty when it does not exist.
[[nodiscard]] Result<std::vector<pid_t>> members_of(const RmsApi& rms, int program);

/// Every program of this node.
[[nodiscard]] Result<std::vector<int>> programs_of_node(const RmsApi& rms);

/// Ends the members and destroys the program; the caller must not be a member. Gone is success.
/// @return timed_out (3004): members survive.
[[nodiscard]] Result<> destroy_program(const RmsApi& rms, int program, const EndPolicy& policy,
                                       Clock& clock);

/// Ends all members but the caller, which is one of them and so cannot destroy the program.
/// @return timed_out (3004): members survive.
[[nodiscard]] Result<> end_other_members(const RmsApi& rms, int program, const EndPolicy& policy,
                                         Clock& clock);

/// Signals all members but the caller, one by one.
[[nodiscard]] Result<> signal_other_members(const RmsApi& rms, int program, int signal_number);

/// Starts a process outside any program that the caller is about to create: once the caller is dead
/// it ends the other members of the program that it was given through the descriptor and destroys
/// it. Closing the descriptor before ends the process. Source: Elan sheet 2.3.
[[nodiscard]] Result<UniqueFd> start_watcher(const RmsApi& rms, const EndPolicy& policy);
[[nodiscard]] Result<> give_to_watcher(const UniqueFd& orders, int program);

}  // namespace hal::elan
