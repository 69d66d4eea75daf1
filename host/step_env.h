// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "hal/step_layout.h"
#include "host/classic_records.h"
#include "host/node_step.h"

namespace hal::host {

/// The SLURM_* variables of one task, with srun's names, and the identity's own when the step runs
/// as somebody else; each replaces an inherited one.
void set_slurm_variables(ClassicEnv& env, const NodeStep& node, std::uint32_t local_id);

/// Counts per node as SLURM_TASKS_PER_NODE has them: "2(x3),1".
[[nodiscard]] std::string tasks_per_node_text(const StepLayout& layout);

}  // namespace hal::host
