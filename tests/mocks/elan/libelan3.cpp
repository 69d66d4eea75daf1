// SPDX-License-Identifier: BSD-3-Clause
// Becomes libelan3.so: the older control interface and the network error service.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <unistd.h>

#include "tests/mocks/elan/capability_helpers.h"
#include "tests/mocks/elan/traced.h"

using namespace backplane_mock;  // NOLINT(google-build-using-namespace): a library of C functions

namespace {

constexpr std::uint32_t kContextMagic = 0x454c3343;

/// Opaque to callers but for its start: the position of the node (a convention of this mock, since
/// the vendor's device information is not published).
struct Elan3Context {
  ELAN_POSITION position;
  std::uint32_t magic;
  std::uint32_t slot;
  int fd;
};

std::atomic<int> service_fd{-1};

Elan3Context* checked(void* context, const Mapping& mapping) {
  auto* own = static_cast<Elan3Context*>(context);
  if (own == nullptr || own->magic != kContextMagic) return nullptr;
  return mapping.is_mine(own->fd) ? own : nullptr;
}

void* open_context(const char* function, int rail) {
  Elan3Context* opened = nullptr;
  traced({function, ENODEV}, Arguments("rail=%d", rail),
         [&](ElanState& state, const Mapping& mapping) {
           if (rail < 0 || rail >= state.options[kRails]) return ENODEV;
           auto* context = new Elan3Context{};
           const int node = caller_node(state);
           const int error = open_handle(state, mapping, node, context->fd, context->slot);
           if (error != 0) {
             delete context;
             return error;
           }
           context->magic = kContextMagic;
           context->position = position_of(state, node);
           opened = context;
           return 0;
         });
  return opened;
}

int register_service(ElanState& state, const Mapping& mapping) {
  const int node = caller_node(state);
  sweep_node(state, mapping, node);
  for (const ErrorService& service : state.services) {
    if (service.used != 0 && service.node == node) return EADDRINUSE;
  }
  const int fd = mapping.reopen();
  if (fd < 0) return ENODEV;
  for (std::size_t i = 0; i < kMaxServices; ++i) {
    if (state.services[i].used != 0 || !take_lock(fd, kServiceLocks + i)) continue;
    state.services[i] = ErrorService{1, node, ::getpid()};
    service_fd = fd;
    return 0;
  }
  ::close(fd);
  return ENOMEM;
}

}  // namespace

extern "C" {

// NOLINTNEXTLINE(readability-identifier-naming): the vendor's name
BACKPLANE_MOCK_EXPORT void* _elan3_init(int rail) { return open_context("_elan3_init", rail); }

BACKPLANE_MOCK_EXPORT void* elan3_control_open(int rail) {
  return open_context("elan3_control_open", rail);
}

BACKPLANE_MOCK_EXPORT void elan3_control_close(void* context) {
  traced({"elan3_control_close", ENODEV}, Arguments(),
         [&](ElanState& state, const Mapping& mapping) {
           Elan3Context* own = checked(context, mapping);
           if (own == nullptr) return EBADF;
           ::close(own->fd);
           own->magic = 0;
           delete own;
           sweep_node(state, mapping, caller_node(state));
           return 0;
         });
}

#ifndef BACKPLANE_MOCK_LACKS_ELAN3_CREATE
BACKPLANE_MOCK_EXPORT int elan3_create(void* context, ELAN3_CAPABILITY* cap) {
  const Geometry none{};
  const Geometry wanted = cap == nullptr ? none : geometry_of(*cap);
  return static_cast<int>(traced(
      {"elan3_create", ENODEV},
      Arguments("ctx=%x.%x nodes=%d.%d rails=%x type=%x", static_cast<unsigned>(wanted.low_context),
                static_cast<unsigned>(wanted.high_context), wanted.low_node, wanted.high_node,
                wanted.rail_mask, static_cast<unsigned>(wanted.type)),
      [&](ElanState& state, const Mapping& mapping) {
        const Elan3Context* own = checked(context, mapping);
        if (own == nullptr) return EBADF;
        if (cap == nullptr) return EFAULT;
        return create_capability(state, mapping, own->slot, wanted, Flavour::elan3);
      }));
}
#endif

BACKPLANE_MOCK_EXPORT void elan3_nullcap(ELAN3_CAPABILITY* cap) { null_capability(*cap); }

BACKPLANE_MOCK_EXPORT int elan3_nrails(ELAN3_CAPABILITY* cap) { return rail_count(*cap); }

BACKPLANE_MOCK_EXPORT char* elan3_capability_string(ELAN3_CAPABILITY* cap, char* out) {
  return capability_text(cap, out);
}

BACKPLANE_MOCK_EXPORT ELAN_LOCATION elan3_vp2location(unsigned process, ELAN3_CAPABILITY* cap) {
  return location_of(static_cast<int>(process), *cap);
}

BACKPLANE_MOCK_EXPORT int elan3_location2vp(ELAN_LOCATION location, ELAN3_CAPABILITY* cap) {
  return process_at(location, *cap);
}

BACKPLANE_MOCK_EXPORT int elan3_nvps(ELAN3_CAPABILITY* cap) { return process_count(*cap); }

BACKPLANE_MOCK_EXPORT int elan3_init_neterr_svc(int dump) {
  return static_cast<int>(traced({"elan3_init_neterr_svc", ENODEV, 1, 0},
                                 Arguments("dump=%d", dump),
                                 [](ElanState&, const Mapping&) { return 0; }));
}

BACKPLANE_MOCK_EXPORT int elan3_register_neterr_svc() {
  return static_cast<int>(traced(
      {"elan3_register_neterr_svc", ENODEV, 1, 0}, Arguments(),
      [](ElanState& state, const Mapping& mapping) { return register_service(state, mapping); }));
}

/// Returns only when an injected failure says so; pause() is where a cancelled thread ends.
BACKPLANE_MOCK_EXPORT int elan3_run_neterr_svc() {
  const long result = traced({"elan3_run_neterr_svc", ENODEV}, Arguments(),
                             [](ElanState&, const Mapping&) { return 0; });
  if (result == 0) {
    while (true) ::pause();
  }
  return -1;
}

BACKPLANE_MOCK_EXPORT int elan3_load_neterr_svc(int id, char* host) {
  return static_cast<int>(
      traced({"elan3_load_neterr_svc", ENODEV},
             Arguments("id=%d host=%.60s", id, host == nullptr ? "(null)" : host),
             [&](ElanState& state, const Mapping&) {
               if (host == nullptr) return EFAULT;
               if (id < 0 || id >= state.options[kNodes]) return EINVAL;
               ++state.options[kNeterrLoaded];
               return 0;
             }));
}

}  // extern "C"
