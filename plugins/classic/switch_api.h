// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <sys/types.h>

#include "plugins/classic/api.h"
#include "plugins/classic/buffer.h"

/// Switch API version 0 and what the daemons up to 1.1 looked up besides. Source: switch API v0;
/// classic ABI sheet 2 and 4.1; call order sheet 2. Errors 3000..3099 are the backend's own and are
/// translated by switch_p_strerror; other values are errno values.

using switch_jobinfo_t = void*;    ///< credential of a step; null is tolerated everywhere
using switch_node_info_t = void*;  ///< switch state record of a node; null is tolerated
using Buf = hal::classic::HostBuffer*;

extern "C" {

// ---- Global state: controller, as the service user ----

/// Writes the grants to a file in `dir_name` (absolute, not null). Main thread at shutdown or at
/// hand-over. Memory stays usable, but frees that follow release nothing: the file stays true.
/// @return -1: EINVAL without a directory, or why the file cannot be written.
HAL_EXPORT int switch_p_libstate_save(char* dir_name);

/// Takes up the state saved in `dir_name`; null means a cold start with empty state. Main thread.
/// Credentials unpacked before this call are steps that survived. `recover` exists from 0.6 on and
/// is not read for older hosts; hosts that pass it name the surviving steps afterwards with
/// switch_p_job_step_allocated. Damaged state is rebuilt from the survivors.
/// @return -1: state unreadable (hosts end then).
HAL_EXPORT int switch_p_libstate_restore(char* dir_name, int recover);

/// Forgets all grants. From 0.6 on.
HAL_EXPORT int switch_p_libstate_clear(void);

/// True if no job may start while another one ends; false on any failure, because true would stop
/// the whole scheduler. Any thread.
HAL_EXPORT bool switch_p_no_frag(void);

/// Set-up calls of the daemons of 0.7 to 1.x: nothing to do before first use.
HAL_EXPORT int switch_p_slurmctld_init(void);
HAL_EXPORT int switch_p_slurmd_init(void);
HAL_EXPORT int switch_p_slurmd_step_init(void);

// ---- Node state: node daemon (root) fills and packs, controller unpacks ----

/// Removes whatever earlier steps left on this node. Root, main thread, on a clean start.
HAL_EXPORT int switch_p_clear_node_state(void);

/// Makes an empty record and writes its handle to `*switch_node`. @return -1: EINVAL, ENOMEM.
HAL_EXPORT int switch_p_alloc_node_info(switch_node_info_t* switch_node);

/// Fills a record with the state of the calling node. Any thread, at any time.
HAL_EXPORT int switch_p_build_node_info(switch_node_info_t switch_node);

/// Appends a record to `buffer`. @return bytes written; 0 for hosts of 0.4 and 0.5, which take
/// other results for failures. Those hosts also call this where unpack belongs: a record that was
/// never built is read from `buffer` then.
HAL_EXPORT int switch_p_pack_node_info(switch_node_info_t switch_node, Buf buffer);

/// Reads a record from `buffer` and shows it to the controller's allocator. @return -1: EBADMSG.
HAL_EXPORT int switch_p_unpack_node_info(switch_node_info_t switch_node, Buf buffer);

/// Frees a record. Takes the handle, as the document says, or its address, as every release passes
/// it; `*address` is then set to null. Null, and the address of null, are no-ops.
HAL_EXPORT int switch_p_free_node_info(switch_node_info_t* switch_node);

/// One line about the record in `buf`, cut to `size` bytes with its terminator.
/// @return `buf`; null if `buf` is null or `size` 0.
HAL_EXPORT char* switch_p_sprintf_node_info(switch_node_info_t switch_node, char* buf, size_t size);

// ---- Credentials ----

/// Makes an unbuilt credential. Any process, any thread. @return -1: EINVAL, ENOMEM.
HAL_EXPORT int switch_p_alloc_jobinfo(switch_jobinfo_t* switch_job);

/// Grants what a step needs and describes it. Controller, under its job lock; srun without an
/// allocation. `nodelist` is a host list expression, ranges allowed. `tasks` is the number of tasks
/// for hosts of 0.4 and 0.5 (`int`) and the number on each node from 0.6 on (`int*`). `cyclic`:
/// tasks go round the nodes instead of filling one after the other. `network` (from 0.5) is not
/// used. Never positive: hosts take positive results for success.
/// @return -1: EINVAL bad list or count, EBUSY built already, EAGAIN nothing left, 3000..3099.
HAL_EXPORT int switch_p_build_jobinfo(switch_jobinfo_t switch_job, char* nodelist, intptr_t tasks,
                                      int cyclic, char* network);

/// A new credential equal to the given one, which stays the owner of the grant. @return null:
/// ENOMEM, EINVAL for null.
HAL_EXPORT switch_jobinfo_t switch_p_copy_jobinfo(switch_jobinfo_t switch_job);

/// Frees a credential; if it still owns a grant, the grant is released.
HAL_EXPORT void switch_p_free_jobinfo(switch_jobinfo_t switch_job);

/// Appends a credential to `buffer`, growing it; read-only on the credential, so that many threads
/// may pack one. Null is packed as an unbuilt credential. @return bytes written.
HAL_EXPORT int switch_p_pack_jobinfo(switch_jobinfo_t switch_job, Buf buffer);

/// Fills a credential from `buffer`, consuming exactly its bytes. Anybody may have written them.
/// @return -1: EBADMSG or the backend's number for damage; nothing is consumed then.
HAL_EXPORT int switch_p_unpack_jobinfo(switch_jobinfo_t switch_job, Buf buffer);

/// No key is defined. @return -1: EINVAL.
HAL_EXPORT int switch_p_get_jobinfo(switch_jobinfo_t switch_job, int data_type, void* data);

/// The document's second name of switch_p_get_jobinfo.
HAL_EXPORT int switch_p_get_data_jobinfo(switch_jobinfo_t switch_job, int key,
                                         void* resulting_data);

/// The step ended on all its nodes: releases the grant. May come never, early or twice.
/// Controller, under its job lock. `nodelist` may be null.
HAL_EXPORT int switch_p_job_step_complete(switch_jobinfo_t switch_job, char* nodelist);

/// The step ended on some nodes (from 1.1.3). Not asked for, see switch_p_part_comp: success.
HAL_EXPORT int switch_p_job_step_part_comp(switch_jobinfo_t switch_job, char* nodelist);

/// True if partial completions are wanted: never, grants are per step.
HAL_EXPORT bool switch_p_part_comp(void);

/// The step of this credential survived the controller's restart (from 0.6, after restore):
/// the credential becomes the owner of its grant. `nodelist` may be null.
HAL_EXPORT int switch_p_job_step_allocated(switch_jobinfo_t switch_job, char* nodelist);

/// Text for people, without keys.
HAL_EXPORT void switch_p_print_jobinfo(FILE* fp, switch_jobinfo_t switch_job);

/// One line in `buf`, cut to `size` bytes with its terminator, without keys.
/// @return `buf`; null if `buf` is null or `size` 0.
HAL_EXPORT char* switch_p_sprint_jobinfo(switch_jobinfo_t switch_job, char* buf, size_t size);

// ---- Node and step ----

/// Once a run of the node daemon, root, before any thread. Must not disturb running steps.
HAL_EXPORT int switch_p_node_init(void);

/// Once as the node daemon exits; running steps continue.
HAL_EXPORT int switch_p_node_fini(void);

/// First call of a step on a node: root, in the job manager. After -1 nothing is left behind.
HAL_EXPORT int switch_p_job_preinit(switch_jobinfo_t switch_job);

/// Opens the interconnect for the step: root, in the session manager, before it becomes `uid`.
HAL_EXPORT int switch_p_job_init(switch_jobinfo_t switch_job, uid_t uid);

/// Joins the calling task: as the user, between fork and exec. All numbers are from 0: `nodeid` in
/// the step's node order, `procid` on the node, `rank` in the step; `nnodes`, `nprocs` are counts.
/// Variables replace those of their name in `*env`, which may move.
HAL_EXPORT int switch_p_job_attach(switch_jobinfo_t switch_job, char*** env, uint32_t nodeid,
                                   uint32_t procid, uint32_t nnodes, uint32_t nprocs,
                                   uint32_t rank);

/// All tasks ended: in the process of job_init, as the user (0.4) or root (later). May never come.
HAL_EXPORT int switch_p_job_fini(switch_jobinfo_t switch_job);

/// Last call of a step on a node: root, in the process of job_preinit, always after a successful
/// preinit. `pgid` is a process id (0: unknown, never "my group") despite its type. Bounded wait.
HAL_EXPORT int switch_p_job_postfini(switch_jobinfo_t switch_job, uid_t pgid, uint32_t job_id,
                                     uint32_t step_id);

// ---- Errors ----

/// Number of the last failure in the calling thread if it is one of 3000..3099, else 0.
HAL_EXPORT int switch_p_get_errno(void);

/// Static text of one of the backend's numbers, 3000..3099; null for all other numbers.
HAL_EXPORT char* switch_p_strerror(int errnum);

}  // extern "C"
