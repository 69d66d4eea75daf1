// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/backend.h"
#include "plugins/binding.h"

const char plugin_type[] = "switch/elan";
const char plugin_name[] = "Quadrics Elan3/Elan4 interconnect";
const std::uint32_t plugin_version = 90;

const hal::BackendDescriptor& hal::plugin::bound_backend() noexcept { return hal::elan::backend; }
