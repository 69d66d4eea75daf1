// SPDX-License-Identifier: BSD-3-Clause
#include "host/plugin_set.h"

#include <system_error>
#include <utility>

namespace hal::host {
namespace {

template <class OnePlugin>
Result<> open_one(OnePlugin& plugin, Family family, const SiteConf& conf, const PluginPath& path,
                  Trace& trace) {
  auto opened = OnePlugin::open(conf.type_of(family), path, &trace);
  if (!opened) return propagate(std::move(opened));
  plugin = std::move(*opened);
  return {};
}

}  // namespace

Result<PluginSet> PluginSet::open(const SiteConf& conf, StepShape shape, Trace& trace) {
  PluginSet set;
  set.trace = &trace;
  set.shape = shape;
  set.jobacct_parameters = conf.job_acct_parameters();
  set.jobacct_location = conf.job_acct_location();
  set.plugin_dir = conf.plugin_dir();
  const PluginPath path(set.plugin_dir);
  auto result = open_one(set.interconnect, Family::interconnect, conf, path, trace);
  if (result) result = open_one(set.proctrack, Family::proctrack, conf, path, trace);
  if (result) result = open_one(set.job_container, Family::job_container, conf, path, trace);
  if (result) result = open_one(set.core_spec, Family::core_spec, conf, path, trace);
  if (result) result = open_one(set.jobacct, Family::jobacct, conf, path, trace);
  if (!result) return propagate(std::move(result));
  return set;
}

Result<> PluginSet::reopen_switch() {
  const std::string type = interconnect.plugin().type();
  interconnect.close();
  auto opened = SwitchPlugin::open(type, PluginPath(plugin_dir), trace);
  if (!opened) return propagate(std::move(opened));
  interconnect = std::move(*opened);
  return {};
}

std::vector<std::string> PluginSet::types() const {
  return {interconnect.plugin().type(), proctrack.plugin().type(), job_container.plugin().type(),
          core_spec.plugin().type(), jobacct.plugin().type()};
}

void PluginSet::abandon() noexcept {
  interconnect.abandon();
  proctrack.abandon();
  job_container.abandon();
  core_spec.abandon();
  jobacct.abandon();
}

std::string switch_error_text(const PluginSet& plugins, int error_number) {
  if (error_number >= 3000 && error_number <= 3099) {
    if (const char* own = plugins.interconnect->strerror(error_number)) return own;
  }
  switch (error_number) {  // the daemons' own numbers; source: switch call order sheet 7
    case 2022:
      return "the interconnect refused (error 2022)";
    case 2025:
      return "bad number of tasks (error 2025)";
    case 2034:
      return "the switch type may not change (error 2034)";
    default:
      return std::generic_category().message(error_number);
  }
}

}  // namespace hal::host
