// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/backend.h"
#include "plugins/binding.h"

const char plugin_type[] = "proctrack/pgid";
const char plugin_name[] = "Process tracking by process groups";
const std::uint32_t plugin_version = 91;

const hal::BackendDescriptor& hal::plugin::bound_backend() noexcept {
  return hal::linux_host::pgid_backend;
}
