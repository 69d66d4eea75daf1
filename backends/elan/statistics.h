// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <sys/types.h>

#include "backends/elan/capability.h"

namespace hal::elan {

/// The step's shared segment in which libelan counts. Found by its key alone, so that every process
/// of the step can; a segment that is not the step's is never touched. Source: Elan sheet 2.1.
/// @return the kind of errno; a foreign segment of that key is EEXIST.
[[nodiscard]] Result<> create_statistics(const Capability& capability, uid_t owner);

[[nodiscard]] bool has_statistics(const Capability& capability);

/// Marks the segment for destruction; none is success.
void remove_statistics(const Capability& capability) noexcept;

}  // namespace hal::elan
