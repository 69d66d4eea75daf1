// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/none.h"
#include "plugins/binding.h"

const char plugin_type[] = "core_spec/none";
const char plugin_name[] = "No core specialization";
const std::uint32_t plugin_version = 100;

const hal::BackendDescriptor& hal::plugin::bound_backend() noexcept {
  return hal::linux_host::none_backend;
}
