// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plugins/binding.h"

/// The classic face: symbols of the five plugin documents (switch and jobacct version 0, proctrack
/// 91, core_spec 100, job_container 2019) and of the daemons of their years, one header a family.
///
/// Rules of all families, unless a function says otherwise. Integer functions return 0 or -1 and
/// set errno; an error number is never a return value. errno is not reset by a success. Pointers
/// that the host passes stay the host's and are not kept. Every function may be the first call in a
/// process and may come from any thread.

extern "C" {

/// Called when the plugin was loaded, before any other function. Reads hal.conf; starts no thread,
/// opens no vendor library. Again without fini() in between is success.
HAL_EXPORT int init(void);

/// Called before the plugin is unloaded. Frees all storage; init() may follow without reloading.
HAL_EXPORT int fini(void);

}  // extern "C"
