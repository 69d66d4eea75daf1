// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "hal/backend.h"
#include "hal/process_aggregate.h"

namespace hal::linux_host {

/// @return no_device: no /proc of this PID namespace; unsupported: no pidfd_open;
/// invalid_argument: a bad option.
[[nodiscard]] Result<std::unique_ptr<ProcessAggregate>> make_pgid_aggregate(
    const BackendContext& context);

}  // namespace hal::linux_host
