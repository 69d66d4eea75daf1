// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

#include "hal/accounting.h"
#include "hal/result.h"

/// Records of the controller, private to each release; read by a table of offsets.
struct job_record;
struct slurm_msg;

namespace hal::classic {

/// Copies the facts of a job. The layout follows from the record's block size.
/// @return unsupported (ENOTSUP): no layout of that size; invalid_argument: null.
[[nodiscard]] Result<JobFacts> read_job(const job_record* record);

/// The bytes of an accounting message, which live as long as the message.
/// @return invalid_argument: null, or not of type 8003; corrupt: no data.
[[nodiscard]] Result<std::span<const std::byte>> read_message(const slurm_msg* message);

}  // namespace hal::classic
