// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/result.h"
#include "hal/types.h"

namespace hal::plugin {

/// A host's step record, copied out. Which bytes of the foreign struct it came from is known to the
/// face's step_record.cpp alone.
struct StepRecord {
  StepDescriptor step;
  ContainerId container = kNoContainer;  ///< kNoContainer also where the record has no such member
  bool batch = false;
  int session_status = -1;  ///< raw wait status of the session manager; -1 where there is none
};

}  // namespace hal::plugin
