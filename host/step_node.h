// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <sys/types.h>
#include <vector>

#include "host/step_launcher.h"
#include "host/step_ledger.h"
#include "host/step_messages.h"

namespace hal::host {

/// A node's manager as the launcher sees it.
struct StepLauncher::Node final : Pollable {
  StepLauncher* launcher = nullptr;
  std::uint32_t index = 0;
  pid_t pid = 0;
  ProcessMark mark;
  MessageSocket socket;
  SessionReady session{};
  std::vector<TaskBirth> births;
  std::vector<TaskBirth> helpers;  ///< of plugins: outlive the manager, then end by themselves
  bool reported = false;           ///< its last message has come
  bool recovering = false;         ///< the process now gives back what the manager held
  bool done = false;

  void ready(std::uint32_t) override { launcher->take_messages(*this); }
};

}  // namespace hal::host
