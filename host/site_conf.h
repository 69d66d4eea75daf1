// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "hal/result.h"
#include "host/families.h"

namespace hal::host {

/// Where a site keeps its slurm.conf-style file for this command.
inline constexpr const char* kDefaultSiteConf = "/etc/backplane/backplane.conf";

/// The keys of a slurm.conf-style file that a step needs. Empty strings mean "not given"; the
/// accessors answer the default then.
class SiteConf {
 public:
  /// Every family `none` (proctrack: pgid), everything else the default.
  SiteConf();

  /// Parses text; `name` is used in messages. Grammar: `Key=Value` pairs, several to a line as
  /// slurm.conf allows, `#` comments, a backslash at the end continues a line; keys in any case; at
  /// most 1 MiB, 4096 bytes a logical line. Unknown keys and Include give a warning.
  /// @return invalid_argument: "name:line: key: reason; cure".
  [[nodiscard]] static Result<SiteConf> parse(std::string_view text, std::string_view name);

  /// Reads a file by descriptor: regular, owned by root or the effective user, writable by its
  /// owner only.
  /// @return not_found; no_permission: other owner or mode; invalid_argument: as `parse`.
  [[nodiscard]] static Result<SiteConf> load(const std::string& path);

  /// What a command uses: the file `named` if not empty, else kDefaultSiteConf if it exists, else
  /// the defaults. @return as `load`.
  [[nodiscard]] static Result<SiteConf> load_for_command(const std::string& named);

  /// The whole type of a family: "switch/elan".
  [[nodiscard]] const std::string& type_of(Family family) const noexcept;

  /// Chooses a type as a command line does; a bare minor gets its major.
  /// @return invalid_argument: not a type of this family.
  [[nodiscard]] Result<> set_type(Family family, std::string_view type);

  [[nodiscard]] std::string plugin_dir() const;         ///< colon list of absolute directories
  [[nodiscard]] std::string job_acct_location() const;  ///< "/var/log/slurm_accounting.log"
  [[nodiscard]] const std::string& job_acct_parameters() const noexcept;  ///< "Frequency=30"
  [[nodiscard]] const std::string& debug_flags() const noexcept;

  /// The directory for state, not created; see `prepare_state_directory`.
  [[nodiscard]] std::string state_save_location() const;

  [[nodiscard]] const std::string& hal_conf() const noexcept;  ///< key HalConf, or empty

  void set_plugin_dir(std::string value) { plugin_dir_ = std::move(value); }
  void set_state_save_location(std::string value) { state_save_location_ = std::move(value); }
  void set_hal_conf(std::string value) { hal_conf_ = std::move(value); }

  /// "name:line: text" of everything that was passed over.
  [[nodiscard]] const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  friend class SiteConfParser;

  std::array<std::string, kFamilyCount> types_;
  std::string plugin_dir_;
  std::string state_save_location_;
  std::string job_acct_location_;
  std::string job_acct_parameters_;
  std::string debug_flags_;
  std::string hal_conf_;
  std::vector<std::string> warnings_;
};

/// Creates `directory` and missing parents (0700) and checks that only root or the effective user
/// can change it. @return the absolute path without links.
[[nodiscard]] Result<std::string> prepare_state_directory(const std::string& directory);

/// Which hal.conf the plugins are told.
struct HalConfChoice {
  std::string path;
  bool is_demo = false;  ///< the one that comes with the mock vendor libraries
};

/// The file that `conf` names; else /etc/backplane/hal.conf; else, when that does not exist, the
/// demonstration file beside the command, <exe dir>/../share/backplane/demo/hal.conf, if it exists;
/// else /etc/backplane/hal.conf, whose absence means an empty configuration.
[[nodiscard]] HalConfChoice locate_hal_conf(const SiteConf& conf);

/// Directory of the running executable, without links; empty if the kernel does not say.
[[nodiscard]] std::string executable_directory();

}  // namespace hal::host
