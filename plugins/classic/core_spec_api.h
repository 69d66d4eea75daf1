// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>

#include "plugins/classic/api.h"

/// Core specialization API version 100. All calls: step daemon, root, one for each step on each
/// node, never for batch scripts. `cont_id` is what the proctrack plugin put into the step record;
/// 0 occurs. `core_count` is raw: 0xfffe means that the job asked for none, the top bit that the
/// rest counts threads. Source: core_spec API 100; classic ABI sheet 4.4.

extern "C" {

/// Keeps the step's tasks off `core_count` cores. Tasks are forked and held.
/// @return -1: EINVAL more than the node has, ESRCH unknown container.
HAL_EXPORT int core_spec_p_set(uint64_t cont_id, uint16_t core_count);

/// All tasks ended. Also without a set before, twice, and for id 0: success.
HAL_EXPORT int core_spec_p_clear(uint64_t cont_id);

/// After all tasks were stopped.
HAL_EXPORT int core_spec_p_suspend(uint64_t cont_id, uint16_t core_count);

/// Before all tasks continue.
HAL_EXPORT int core_spec_p_resume(uint64_t cont_id, uint16_t core_count);

}  // extern "C"
