// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/backend.h"

namespace hal::linux_host {

/// The roles that need nothing of the machine: every call succeeds. A switch without an adapter
/// (credentials are empty and travel as no bytes, as they did in the documents' years), a job
/// container and a core reservation that hold nothing, accounting that keeps nothing. The one thing
/// that is really done: destroy_context kills the process group that the host names, because for
/// hosts of those years this call is the clean-up. Source: classic ABI sheet 2.
extern const BackendDescriptor none_backend;

}  // namespace hal::linux_host
