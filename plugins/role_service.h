// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "plugins/service.h"

namespace hal::plugin {

/// Service of a family that is one role, made at init().
template <class Role, RoleFactory<Role> BackendDescriptor::*kFactory>
class RoleService : public Service {
 public:
  using Service::Service;

  [[nodiscard]] Result<> open() {
    auto made = make_role(backend().*kFactory);
    if (!made) return propagate(std::move(made));
    role_ = *std::move(made);
    return {};
  }

  [[nodiscard]] Role& role() noexcept { return *role_; }

 private:
  std::unique_ptr<Role> role_;
};

/// The body of `make_service` for services with `open()`.
template <class S>
[[nodiscard]] Result<std::unique_ptr<Service>> make_opened(const HostSymbols& symbols,
                                                           BoundBackend bound) {
  auto service = std::make_unique<S>(symbols, std::move(bound));
  if (auto opened = service->open(); !opened) return propagate(std::move(opened));
  return service;
}

}  // namespace hal::plugin
