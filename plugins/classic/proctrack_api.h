// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "plugins/classic/api.h"
#include "plugins/classic/step_record.h"

/// Process tracking API version 91, under the document's names and, with the same arguments, under
/// those of 14.03 to 24.11. Step daemon, root; signal, find, has_pid and get_pids also from request
/// threads. Id 0 means "no container" and is an error except where noted. Source: proctrack API 91;
/// proctrack sheet 1 and 2; classic ABI sheet 4.3.

extern "C" {

/// Makes an empty container before the first task and writes its id, never 0, to the record's
/// cont_id. A record that has one keeps it: success.
/// @return -1: ENOTSUP when the record's layout is not known (nothing is written then).
HAL_EXPORT int slurm_container_plugin_create(slurmd_job_t* job);
HAL_EXPORT int proctrack_p_create(slurmd_job_t* job);

/// Puts `pid` and its later children into the record's container. Again is success.
/// @return -1: EINVAL no container or not a pid to be held, ESRCH no such process.
HAL_EXPORT int slurm_container_plugin_add(slurmd_job_t* job, pid_t pid);
HAL_EXPORT int proctrack_p_add(slurmd_job_t* job, pid_t pid);

/// Signals each member; 0 only asks whether one lives.
/// @return -1: ESRCH no member or unknown id, EINVAL no such signal, EPERM.
HAL_EXPORT int slurm_container_plugin_signal(uint64_t id, int signal);
HAL_EXPORT int proctrack_p_signal(uint64_t id, int signal);

/// Forgets the container; members are not touched. Again, and id 0, are success.
HAL_EXPORT int slurm_container_plugin_destroy(uint64_t id);
HAL_EXPORT int proctrack_p_destroy(uint64_t id);

/// The container of `pid`; 0 if it has none and on any failure.
HAL_EXPORT uint64_t slurm_container_plugin_find(pid_t pid);
HAL_EXPORT uint64_t proctrack_p_find(pid_t pid);

/// True if `pid` is a live member; false on any doubt.
HAL_EXPORT bool slurm_container_plugin_has_pid(uint64_t id, pid_t pid);
HAL_EXPORT bool proctrack_p_has_pid(uint64_t id, pid_t pid);

/// Kills what is left and waits until only zombies remain, at most `unkillable_step_timeout`
/// seconds (hal.conf, default 60); then the container is destroyed, because hosts up to 21.08 never
/// do. Again is success. @return -1: EINVAL for ids 0 and 1, ETIMEDOUT when members survive.
HAL_EXPORT int slurm_container_plugin_wait(uint64_t id);
HAL_EXPORT int proctrack_p_wait(uint64_t id);

/// Live members, in no order, in a block that the host's allocator can free. No member: success,
/// `*npids` 0 and `*pids` null. Unknown container: -1, likewise.
HAL_EXPORT int slurm_container_plugin_get_pids(uint64_t cont_id, pid_t** pids, int* npids);
HAL_EXPORT int proctrack_p_get_pids(uint64_t cont_id, pid_t** pids, int* npids);

}  // extern "C"
