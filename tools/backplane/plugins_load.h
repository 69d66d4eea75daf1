// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "host/plugin_check.h"

namespace backplane {

/// Opens the plugin for real, init() and fini() included, in a child process; what goes wrong
/// becomes a finding.
void load_in_child(hal::host::PluginReport& report);

}  // namespace backplane
