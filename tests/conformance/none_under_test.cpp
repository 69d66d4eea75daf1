// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/none.h"
#include "tests/conformance/conformance.h"

namespace hal::conformance {

const BackendUnderTest& backend_under_test() {
  static const BackendUnderTest none = [] {
    BackendUnderTest made;
    made.name = "none";
    made.descriptor = &hal::linux_host::none_backend;
    return made;
  }();
  return none;
}

}  // namespace hal::conformance
