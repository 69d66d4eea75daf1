// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hal/result.h"
#include "host/families.h"
#include "host/system_libraries.h"

namespace hal::host {

/// One thing that keeps a plugin from being used, or, as a note, that does not.
struct Finding {
  bool problem = true;
  std::string what;
  std::string cure;
};

/// What is known of a plugin file without running any of its code.
struct PluginReport {
  std::string file;
  const FamilyTable* family = nullptr;  ///< null: of no family of the classic API
  std::optional<std::string> type;
  std::optional<std::string> name;
  std::optional<std::uint32_t> version;
  std::string face;  ///< "classic", "slurm-22.05", or empty when it is neither
  std::vector<Finding> findings;

  [[nodiscard]] bool usable() const noexcept;
};

/// Reads one file and compares it with its API: path, owner and mode; identity symbols; missing,
/// extra and undefined symbols. The file is never loaded.
/// @return not_found and the like when it cannot be read at all.
[[nodiscard]] Result<PluginReport> inspect_plugin(const std::string& file,
                                                  SystemLibraries& libraries);

/// "91", "100", "22.05.8": a plugin_version as its release writes it.
[[nodiscard]] std::string version_text(std::uint32_t version);

}  // namespace hal::host
