// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <sys/types.h>

#include "plugins/classic/api.h"

/// Job container API: the union of what the releases from 14.03 to 22.05 looked up, so that one
/// file serves them all. `job_id` 0 and unknown ids occur. Source: job_container API 2019; classic
/// ABI sheet 4.5.

extern "C" {

/// Makes the job's container on this node. slurmd, root; again for a later step: success. Hosts
/// before 21.08 pass no second argument, so none is read.
HAL_EXPORT int container_p_create(uint32_t job_id);

/// Puts a step's process aggregate, as the proctrack plugin numbered it, into the container. Step
/// daemon, root.
HAL_EXPORT int container_p_add_cont(uint32_t job_id, uint64_t cont_id);

/// Puts one process into the container. 14.03 to 18.08.
HAL_EXPORT int container_p_add_pid(uint32_t job_id, pid_t pid, uid_t uid);

/// Moves the calling process, a child of the daemon that is about to run a script, in. From 19.05.
/// Job 0 means "no job": success.
HAL_EXPORT int container_p_join(uint32_t job_id, uid_t uid);

/// A descriptor by which an outside process joins. From 20.11. No backend offers one.
/// @return -1 and ENOSYS.
HAL_EXPORT int container_p_join_external(uint32_t job_id);

/// The job ended on this node; the container need not be empty. Unknown jobs: success.
HAL_EXPORT int container_p_delete(uint32_t job_id);

/// slurmd started: takes up what `dir_name` records, or forgets it when `recover` is false.
HAL_EXPORT int container_p_restore(char* dir_name, bool recover);

/// Configuration or debug flags changed.
HAL_EXPORT void container_p_reconfig(void);

/// Step daemon, from 21.08: makes the container for `uid` if slurmd has not yet.
HAL_EXPORT int container_p_stepd_create(uint32_t job_id, uid_t uid);

/// Step daemon, from 21.08: a step ended; the container lives on until container_p_delete.
HAL_EXPORT int container_p_stepd_delete(uint32_t job_id);

}  // extern "C"
