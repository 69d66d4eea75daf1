// SPDX-License-Identifier: BSD-3-Clause
#include "hal/backend.h"

#include <cerrno>

namespace hal {

Result<BoundBackend> bind(std::string_view plugin_type, const BackendDescriptor& built_in,
                          const Config& config) {
  BackendConfig section = config.section(plugin_type);
  const std::string wanted = section.get("backend", "builtin");
  if (wanted != "builtin") {
    return fail(Errc::unsupported, EOPNOTSUPP,
                section.source() + ": backend = " + wanted + " of [" + std::string(plugin_type) +
                    "] cannot be opened: this version has only 'builtin' (" +
                    std::string(built_in.name) + "); remove the line or write 'builtin'");
  }
  return BoundBackend{&built_in, std::move(section)};
}

}  // namespace hal
