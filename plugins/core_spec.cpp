// SPDX-License-Identifier: BSD-3-Clause
// Core specialization: the same four symbols in every release from 14.11 on.
#include "hal/topology.h"
#include "plugins/classic/core_spec_api.h"
#include "plugins/role_service.h"

using namespace hal;  // NOLINT(google-build-using-namespace): thin C entry points

namespace {

using CoreSpecService =
    plugin::RoleService<CoreReservation, &BackendDescriptor::make_core_reservation>;

template <class Body>
int call(const char* name, Body&& body) noexcept {
  return plugin::call<CoreSpecService>(
      name, [&](CoreSpecService& service) { return body(service.role()); });
}

}  // namespace

Result<std::unique_ptr<plugin::Service>> plugin::make_service(const HostSymbols& symbols,
                                                              BoundBackend bound) {
  return make_opened<CoreSpecService>(symbols, std::move(bound));
}

int core_spec_p_set(uint64_t cont_id, uint16_t core_count) {
  return call("set", [&](CoreReservation& role) {
    return role.reserve(ContainerId{cont_id}, SpecializedCount{core_count});
  });
}

int core_spec_p_clear(uint64_t cont_id) {
  return call("clear", [&](CoreReservation& role) { return role.release(ContainerId{cont_id}); });
}

int core_spec_p_suspend(uint64_t cont_id, uint16_t core_count) {
  return call("suspend", [&](CoreReservation& role) {
    return role.suspend(ContainerId{cont_id}, SpecializedCount{core_count});
  });
}

int core_spec_p_resume(uint64_t cont_id, uint16_t core_count) {
  return call("resume", [&](CoreReservation& role) {
    return role.resume(ContainerId{cont_id}, SpecializedCount{core_count});
  });
}
