// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/result.h"
#include "plugins/classic/memory.h"
#include "plugins/step_record.h"

/// Record of a step in the host's step processes, private to each release. Only its address is
/// used here; step_record.cpp reads it by a table of offsets.
struct slurmd_job;
using slurmd_job_t = slurmd_job;

namespace hal::classic {

/// Whose process the record must belong to: the check that tells releases of one record size apart.
enum class Manager {
  self,            ///< the caller is the step's manager (create)
  self_or_parent,  ///< or a direct child of it
  any,             ///< not checked: the record's size alone is unique in that family's years
};

/// Copies the members that backends need. The layout follows from the block size that the host's
/// allocator noted in front of the record.
/// @return unsupported (ENOTSUP): no layout of that size, or its manager pid contradicts `manager`;
/// invalid_argument: null.
[[nodiscard]] Result<plugin::StepRecord> read_step(const slurmd_job_t* record, Manager manager);

/// Writes the container id into a record that `read_step(record, Manager::self)` recognises.
/// @return unsupported: it is not recognised, or has no such member; exhausted (EOVERFLOW): the id
/// does not fit the member's 32 bits. Nothing was written then.
[[nodiscard]] Result<> write_container(slurmd_job_t* record, ContainerId container);

/// Header form of the host that made `record`; two_ints when it has none.
[[nodiscard]] HeaderForm header_form(const slurmd_job_t* record) noexcept;

}  // namespace hal::classic
