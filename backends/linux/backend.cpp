// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/backend.h"

#include "backends/linux/pgid.h"

namespace hal::linux_host {

const BackendDescriptor pgid_backend{.name = "pgid", .make_process_aggregate = make_pgid_aggregate};

}  // namespace hal::linux_host
