// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/backend.h"

namespace hal::linux_host {

/// Process groups as aggregates (proctrack/pgid). Offers ProcessAggregate. Needs Linux 5.3 and a
/// mounted /proc. Options:
///   group_references = yes | no   address groups by reference where the kernel can (Linux 6.9);
///                                 default yes, `no` behaves as on an older kernel
extern const BackendDescriptor pgid_backend;

}  // namespace hal::linux_host
