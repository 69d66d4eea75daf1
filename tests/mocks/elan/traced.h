// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cerrno>

#include "tests/mocks/elan/elan_state.h"

namespace backplane_mock {

/// How one vendor function answers.
struct CallSpec {
  const char* function;
  int absent_errno;  ///< when there is no state file
  long ok = 0;
  long failed = -1;
};

/// One vendor call: injected faults, then `body(state, mapping)` under the guard, which answers 0
/// or an errno value, then the trace and errno.
template <class Body>
long traced(const CallSpec& spec, const Arguments& arguments, Body&& body) {
  Mapping* mapping = Mapping::current(elan_layout());
  if (mapping == nullptr) {
    errno = spec.absent_errno;
    return spec.failed;
  }
  auto& state = *reinterpret_cast<ElanState*>(mapping->core());
  const Injection injection = next_injection(state.core, spec.function);
  int error = injection.error;
  {
    const StateGuard guard(state.core);
    if (error == 0) error = body(state, *mapping);
    record_call(state.core, spec.function, arguments, caller_node(state),
                error == 0 ? spec.ok : spec.failed, error);
  }
  if (injection.kill_after) kill_caller();
  if (error == 0) return spec.ok;
  errno = error;
  return spec.failed;
}

}  // namespace backplane_mock
