// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "hal/result.h"
#include "host/plugin.h"
#include "host/site_conf.h"
#include "host/step_request.h"
#include "host/trace.h"

namespace hal::host {

/// The five plugins of a step, and where their calls are recorded. Opened once, before the first
/// fork; each process of the step uses its own copy of the plugins' memory.
struct PluginSet {
  SwitchPlugin interconnect;
  ProctrackPlugin proctrack;
  JobContainerPlugin job_container;
  CoreSpecPlugin core_spec;
  JobAcctPlugin jobacct;
  Trace* trace = nullptr;  ///< never null after open
  StepShape shape = StepShape::v0;
  std::string jobacct_parameters;
  std::string jobacct_location;
  std::string plugin_dir;

  /// Opens what `conf` names. `trace` may be off and outlives the set.
  [[nodiscard]] static Result<PluginSet> open(const SiteConf& conf, StepShape shape, Trace& trace);

  /// Closes the switch plugin and opens it again, as a daemon that starts anew.
  [[nodiscard]] Result<> reopen_switch();

  /// "switch/none", ... in the order of the families.
  [[nodiscard]] std::vector<std::string> types() const;

  /// Gives all of them up without fini(): for a child that ends with _exit.
  void abandon() noexcept;
};

/// Text for the errno of a failed switch call: the plugin's own for 3000..3099, else the C
/// library's.
[[nodiscard]] std::string switch_error_text(const PluginSet& plugins, int error_number);

}  // namespace hal::host
