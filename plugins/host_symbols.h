// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>

#include "hal/host.h"
#include "hal/host_abi.h"

namespace hal::plugin {

/// Which argument lists the host's switch calls have. The values are those of
/// backplane_host::switch_era. Source: classic ABI sheet 4.1, 8.
enum class SwitchEra : int {
  v0_4 = 4,   ///< the document: a task count, no network; pack where unpack belongs
  v0_5 = 5,   ///< build_jobinfo gains `network`
  v0_6 = 6,   ///< tasks per node instead of a count; libstate_restore gains `recover`
  v1_0 = 10,  ///< further set-up calls
};

/// What the program that opened the plugin offers, looked up by name at init(). Nothing is
/// mandatory: without a host the plugin logs to standard error.
struct HostSymbols {
  using LogFunction = void (*)(const char* format, ...);

  const backplane_host* own = nullptr;  ///< our own host's table
  LogFunction error = nullptr;          ///< the resource manager's, printf-like
  LogFunction info = nullptr;
  LogFunction verbose = nullptr;
  LogFunction debug = nullptr;
  SwitchEra era = SwitchEra::v0_4;

  [[nodiscard]] static HostSymbols find() noexcept;

  /// One line; `text` is NUL-terminated.
  void log(LogLevel level, const char* text) const noexcept;

  [[nodiscard]] std::string config_path() const;
  [[nodiscard]] std::string node_name() const;
};

/// The host as backends see it.
class PluginHost final : public Host {
 public:
  explicit PluginHost(const HostSymbols& symbols) : symbols_(symbols) {}

  void log(LogLevel level, std::string_view message) override;
  [[nodiscard]] std::string node_name() override { return symbols_.node_name(); }
  [[nodiscard]] Clock& clock() override { return system_clock(); }

  [[nodiscard]] const HostSymbols& symbols() const noexcept { return symbols_; }

 private:
  HostSymbols symbols_;
};

}  // namespace hal::plugin
