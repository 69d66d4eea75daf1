// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/result.h"
#include "hal/types.h"

namespace hal::classic {

/// Sets `updates` in the host's environment: a NULL-terminated array of "NAME=value", array and
/// strings being blocks of the host's allocator. A variable that exists is replaced in its place,
/// its first occurrence counts and later ones are dropped; new ones are appended. The array may
/// move. Source: switch API v0, job_attach; classic ABI sheet 6.
/// @return invalid_argument: no array to change, or a name with '='; exhausted (ENOMEM). Updates
/// before the failing one are in place.
[[nodiscard]] Result<> update_environment(char*** environment, const EnvUpdates& updates);

}  // namespace hal::classic
