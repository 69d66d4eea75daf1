// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <functional>
#include <string>

#include "host/plugin_set.h"
#include "host/step_ledger.h"

namespace hal::host {

/// Gives back what the step of a dead launcher held on its nodes: waits for managers that are still
/// ending it, kills recorded processes that are left, then has each node released by a process of
/// its own. The credential is left to the caller. Nothing is killed of which only the number is
/// known.
/// @return false when something stays behind; `say` has told what.
[[nodiscard]] bool release_dead_nodes(PluginSet& plugins, const StepHolding& holding,
                                      const std::function<void(const std::string&)>& say);

}  // namespace hal::host
