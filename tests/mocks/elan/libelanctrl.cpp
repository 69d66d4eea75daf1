// SPDX-License-Identifier: BSD-3-Clause
// Becomes libelanctrl.so: the control device of QsNetII and the functions on its capabilities.
#include <cerrno>
#include <unistd.h>

#include "tests/mocks/elan/capability_helpers.h"
#include "tests/mocks/elan/traced.h"

using namespace backplane_mock;  // NOLINT(google-build-using-namespace): a library of C functions

namespace {

constexpr std::uint32_t kHandleMagic = 0x454c4348;

struct ControlHandle {
  std::uint32_t magic;
  std::uint32_t slot;
  int fd;
};

ControlHandle* checked(void* handle, const Mapping& mapping) {
  auto* control = static_cast<ControlHandle*>(handle);
  if (control == nullptr || control->magic != kHandleMagic) return nullptr;
  return mapping.is_mine(control->fd) ? control : nullptr;
}

}  // namespace

extern "C" {

BACKPLANE_MOCK_EXPORT int elanctrl_open(void** handle) {
  return static_cast<int>(
      traced({"elanctrl_open", ENODEV}, Arguments(), [&](ElanState& state, const Mapping& mapping) {
        if (handle == nullptr) return EFAULT;
        auto* control = new ControlHandle{kHandleMagic, 0, -1};
        const int error =
            open_handle(state, mapping, caller_node(state), control->fd, control->slot);
        if (error != 0) {
          delete control;
          return error;
        }
        *handle = control;
        return 0;
      }));
}

BACKPLANE_MOCK_EXPORT int elanctrl_close(void* handle) {
  return static_cast<int>(traced({"elanctrl_close", ENODEV}, Arguments(),
                                 [&](ElanState& state, const Mapping& mapping) {
                                   ControlHandle* control = checked(handle, mapping);
                                   if (control == nullptr) return EBADF;
                                   ::close(control->fd);
                                   control->magic = 0;
                                   delete control;
                                   sweep_node(state, mapping, caller_node(state));
                                   return 0;
                                 }));
}

#ifndef BACKPLANE_MOCK_LACKS_ELANCTRL_CREATE_CAP
BACKPLANE_MOCK_EXPORT int elanctrl_create_cap(void* handle, ELAN_CAPABILITY* cap) {
  const Geometry none{};
  const Geometry wanted = cap == nullptr ? none : geometry_of(*cap);
  return static_cast<int>(traced(
      {"elanctrl_create_cap", ENODEV},
      Arguments("ctx=%x.%x nodes=%d.%d rails=%x type=%x", static_cast<unsigned>(wanted.low_context),
                static_cast<unsigned>(wanted.high_context), wanted.low_node, wanted.high_node,
                wanted.rail_mask, static_cast<unsigned>(wanted.type)),
      [&](ElanState& state, const Mapping& mapping) {
        const ControlHandle* control = checked(handle, mapping);
        if (control == nullptr) return EBADF;
        if (cap == nullptr) return EFAULT;
        return create_capability(state, mapping, control->slot, wanted, Flavour::elanctrl);
      }));
}
#endif

BACKPLANE_MOCK_EXPORT int elanctrl_get_position(void* handle, std::uint32_t device,
                                                ELAN_POSITION* position) {
  return static_cast<int>(traced({"elanctrl_get_position", ENODEV}, Arguments("device=%u", device),
                                 [&](ElanState& state, const Mapping& mapping) {
                                   const ControlHandle* control = checked(handle, mapping);
                                   if (control == nullptr) return EBADF;
                                   if (static_cast<std::int64_t>(device) >= state.options[kRails])
                                     return EINVAL;
                                   if (position == nullptr) return EFAULT;
                                   *position =
                                       position_of(state, state.handles[control->slot].node);
                                   return 0;
                                 }));
}

BACKPLANE_MOCK_EXPORT void elan_nullcap(ELAN_CAPABILITY* cap) { null_capability(*cap); }

BACKPLANE_MOCK_EXPORT int elan_nrails(ELAN_CAPABILITY* cap) { return rail_count(*cap); }

BACKPLANE_MOCK_EXPORT char* elan_capability_string(ELAN_CAPABILITY* cap, char* out) {
  return capability_text(cap, out);
}

BACKPLANE_MOCK_EXPORT ELAN_LOCATION elan_vp2location(unsigned process, ELAN_CAPABILITY* cap) {
  return location_of(static_cast<int>(process), *cap);
}

BACKPLANE_MOCK_EXPORT int elan_location2vp(ELAN_LOCATION location, ELAN_CAPABILITY* cap) {
  return process_at(location, *cap);
}

BACKPLANE_MOCK_EXPORT int elan_nvps(ELAN_CAPABILITY* cap) { return process_count(*cap); }

BACKPLANE_MOCK_EXPORT int elan_nlocal(int node, ELAN_CAPABILITY* cap) {
  return local_processes(node, *cap, nullptr, 0);
}

BACKPLANE_MOCK_EXPORT int elan_localvps(int node, ELAN_CAPABILITY* cap, int* out, int size) {
  return local_processes(node, *cap, out, size);
}

}  // extern "C"
