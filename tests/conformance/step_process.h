// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <optional>
#include <string>
#include <sys/types.h>

#include "hal/interconnect.h"
#include "tests/conformance/conformance.h"

namespace hal::conformance {

/// What a call in another process answered.
struct Outcome {
  bool ok = false;
  Errc kind = Errc::internal;
  int code = 0;
  std::string detail;
  EnvUpdates environment;  ///< of an attach
};

/// A real session process of one step, with real task processes that attach as the user. The test
/// process plays the job manager above it.
class StepProcess {
 public:
  /// Forks; the session waits for orders. `node` is used by the child as it inherited it.
  StepProcess(InterconnectNode& node, Credential credential, uid_t owner = 65534);
  StepProcess(const StepProcess&) = delete;
  StepProcess& operator=(const StepProcess&) = delete;

  /// Ends tasks and session.
  ~StepProcess();

  [[nodiscard]] Outcome open();

  /// Forks a task that attaches and then stays.
  [[nodiscard]] Outcome attach(const TaskPlace& place);

  [[nodiscard]] Outcome leave();

  /// Ends the tasks, then the session, in order.
  void finish();

  /// Ends the session alone; its tasks stay as orphans until `release_tasks`.
  void finish_session();

  /// As a crash: the session dies by SIGKILL, its tasks stay.
  void crash();

  void release_tasks();

 private:
  [[nodiscard]] Outcome ask(const std::string& order);
  void wait_session();

  pid_t session_ = -1;
  int socket_ = -1;
  int hold_ = -1;
};

}  // namespace hal::conformance
