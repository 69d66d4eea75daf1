// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/host_symbols.h"

#include <array>
#include <cstddef>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/uio.h>
#include <unistd.h>

#include <climits>

#include "hal/config.h"

namespace hal::plugin {
namespace {

template <class Function>
Function host_function(const char* name) noexcept {
  return reinterpret_cast<Function>(::dlsym(RTLD_DEFAULT, name));
}

bool host_has(const char* name) noexcept { return ::dlsym(RTLD_DEFAULT, name) != nullptr; }

/// The member, if the host's table is long enough to hold it.
template <class Member>
Member member(const backplane_host* host, Member backplane_host::*which, std::size_t end) {
  return host != nullptr && host->size >= end ? host->*which : Member{};
}

constexpr std::size_t kEndOfEra = offsetof(backplane_host, hal_conf);
constexpr std::size_t kEndOfConf = offsetof(backplane_host, node_name);
constexpr std::size_t kEndOfNode = offsetof(backplane_host, log);
constexpr std::size_t kEndOfLog = sizeof(backplane_host);

SwitchEra era_of_api_version(long version) noexcept {
  if (version >= 0x050000) return SwitchEra::v1_0;
  if (version >= 0x040000) return SwitchEra::v0_6;
  return version >= 0x030000 ? SwitchEra::v0_5 : SwitchEra::v0_4;
}

/// Source: classic ABI sheet 8: names that the daemons of each release export.
SwitchEra find_era(const backplane_host* own) noexcept {
  const std::int32_t told = member(own, &backplane_host::switch_era, kEndOfEra);
  if (told != 0) {
    if (told >= 10) return SwitchEra::v1_0;
    if (told >= 6) return SwitchEra::v0_6;
    return told == 5 ? SwitchEra::v0_5 : SwitchEra::v0_4;
  }
  if (host_has("switch_g_slurmd_init")) return SwitchEra::v1_0;
  if (host_has("switch_clear")) return SwitchEra::v0_6;
  if (host_has("g_slurmctld_jobacct_init")) return SwitchEra::v0_5;
  if (auto* version = host_function<long (*)()>("slurm_api_version"); version != nullptr) {
    return era_of_api_version(version());
  }
  return SwitchEra::v0_4;
}

void log_to_stderr(std::string_view text) noexcept {
  constexpr std::string_view kPrefix = "backplane: ";
  std::string_view end = "\n";
  std::array<iovec, 3> line{{{const_cast<char*>(kPrefix.data()), kPrefix.size()},
                             {const_cast<char*>(text.data()), text.size()},
                             {const_cast<char*>(end.data()), end.size()}}};
  [[maybe_unused]] const auto written = ::writev(STDERR_FILENO, line.data(), line.size());
}

}  // namespace

HostSymbols HostSymbols::find() noexcept {
  HostSymbols found;
  found.own = host_function<const backplane_host*>("backplane_host");
  if (found.own == nullptr) {
    found.error = host_function<LogFunction>("slurm_error");
    found.info = host_function<LogFunction>("slurm_info");
    found.verbose = host_function<LogFunction>("slurm_verbose");
    found.debug = host_function<LogFunction>("slurm_debug");
  }
  found.era = find_era(found.own);
  return found;
}

void HostSymbols::log(LogLevel level, const char* text) const noexcept {
  if (own != nullptr) {
    if (auto* sink = member(own, &backplane_host::log, kEndOfLog); sink != nullptr) {
      sink(static_cast<std::int32_t>(level), text);
      return;
    }
  }
  LogFunction function = error;
  if (level == LogLevel::info) function = info;
  if (level == LogLevel::verbose) function = verbose;
  if (level == LogLevel::debug) function = debug;
  if (function != nullptr) {
    function("%s", text);
  } else if (level <= LogLevel::info) {
    log_to_stderr(text);
  }
}

std::string HostSymbols::config_path() const {
  const char* told = member(own, &backplane_host::hal_conf, kEndOfConf);
  return told != nullptr ? std::string(told) : std::string(kDefaultConfigPath);
}

std::string HostSymbols::node_name() const {
  if (const char* told = member(own, &backplane_host::node_name, kEndOfNode); told != nullptr) {
    return told;
  }
  if (const char* told = ::secure_getenv("SLURMD_NODENAME"); told != nullptr) return told;
  std::array<char, HOST_NAME_MAX + 1> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return {};
  const std::string_view full(name.data());
  return std::string(full.substr(0, full.find('.')));
}

void PluginHost::log(LogLevel level, std::string_view message) {
  symbols_.log(level, std::string(message).c_str());
}

}  // namespace hal::plugin
