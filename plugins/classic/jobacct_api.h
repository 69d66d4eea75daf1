// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/resource.h>
#include <sys/types.h>

#include "plugins/classic/api.h"
#include "plugins/classic/job_record.h"
#include "plugins/classic/step_record.h"

/// Job accounting API version 0. Hosts ignore every result. The document's four processes share
/// nothing; from 0.6 on one process makes the last six calls. Source: jobacct API v0; classic ABI
/// sheet 2 and 4.2.

extern "C" {

/// Controller, at start and at each reconfigure (after fini() and init() then): the site's
/// JobAcctLoc and JobAcctParameters; null is empty.
HAL_EXPORT int slurmctld_jobacct_init(char* job_acct_loc, char* job_acct_parameters);

/// Controller: a job started. Hosts of 0.5 call it for queued batch jobs at submission, without
/// nodes and with times of 0.
HAL_EXPORT int slurmctld_jobacct_job_start(job_record* job_ptr);

/// Controller: a job ended, for whatever reason.
HAL_EXPORT int slurmctld_jobacct_job_complete(job_record* job_ptr);

/// Controller or node daemon: a message of type MESSAGE_JOBACCT_DATA came; the host has answered it
/// already and frees it after the call.
HAL_EXPORT int slurm_jobacct_process_message(slurm_msg* msg);

/// Node daemon at start, each step daemon too from 1.0 on.
HAL_EXPORT int slurmd_jobacct_init(char* job_acct_parameters);

/// Job manager, root: the step is about to start on this node; before switch job_init.
HAL_EXPORT int slurmd_jobacct_jobstep_launched(slurmd_job_t* job);

/// Job manager, root: the step ended on this node; after switch job_postfini.
HAL_EXPORT int slurmd_jobacct_jobstep_terminated(slurmd_job_t* job);

/// Session manager, after the tasks were forked.
HAL_EXPORT int slurmd_jobacct_smgr(void);

/// Session manager: a task was reaped, with its raw wait status.
HAL_EXPORT int slurmd_jobacct_task_exit(slurmd_job_t* job, pid_t pid, int status,
                                        struct rusage* rusage);

}  // extern "C"
