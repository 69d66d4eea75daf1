// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "hal/backend.h"

/// Marks an entry point of a plugin. Everything else is hidden, by the compiler and by the version
/// script that CMake makes from plugins/classic/<family>.exports.
#define HAL_EXPORT __attribute__((visibility("default")))

extern "C" {
/// Identity that resource managers read before they call anything. Defined by the binding file;
/// inside the plugin the names are bound at link time, so a host's symbol of that name is not used.
HAL_EXPORT extern const char plugin_type[];  ///< "family/minor"
HAL_EXPORT extern const char plugin_name[];  ///< for people
/// Number of the document that the family follows; see docs/adr/0001-classic-plugin-version.md.
HAL_EXPORT extern const std::uint32_t plugin_version;
}

namespace hal::plugin {

/// The backend of this plugin. Defined by plugins/<family>_<minor>.cpp, the one file that names it.
[[nodiscard]] const BackendDescriptor& bound_backend() noexcept;

}  // namespace hal::plugin
