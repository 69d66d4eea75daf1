// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/none.h"
#include "plugins/binding.h"

const char plugin_type[] = "job_container/none";
const char plugin_name[] = "No job container";

const hal::BackendDescriptor& hal::plugin::bound_backend() noexcept {
  return hal::linux_host::none_backend;
}
