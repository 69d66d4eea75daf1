// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/backend.h"
#include "hal/interconnect.h"
namespace hal::elan {
Result<std::unique_ptr<InterconnectNode>> make_node(const BackendContext&) {
  return fail(Errc::unsupported, kElanControl, "pending");
}
}  // namespace hal::elan
