// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>

#include "hal/backend.h"
#include "plugins/guard.h"
#include "plugins/host_symbols.h"
#include "plugins/lazy.h"

namespace hal::plugin {

/// All mutable state of a plugin between init() and fini(). Each family derives one and defines
/// `make_service`; the pointer to it is the only mutable object at namespace scope.
class Service {
 public:
  Service(const HostSymbols& symbols, BoundBackend bound)
      : host_(symbols), bound_(std::move(bound)) {}
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  virtual ~Service() = default;

  [[nodiscard]] PluginHost& host() noexcept { return host_; }
  [[nodiscard]] SwitchEra era() const noexcept { return host_.symbols().era; }
  [[nodiscard]] const BackendDescriptor& backend() const noexcept { return *bound_.descriptor; }
  [[nodiscard]] const BackendConfig& config() const noexcept { return bound_.config; }
  [[nodiscard]] BackendContext context() noexcept { return {bound_.config, host_}; }

  /// Makes a role. @return unsupported (ENOSYS): the backend does not offer it.
  template <class Role>
  [[nodiscard]] Result<std::unique_ptr<Role>> make_role(RoleFactory<Role> factory) {
    if (factory == nullptr) return missing_role();
    return factory(context());
  }

 private:
  [[nodiscard]] Failure missing_role() const;

  PluginHost host_;
  BoundBackend bound_;
};

/// Makes the family's service; defined once in each family. May read files, starts no thread and
/// touches no hardware.
[[nodiscard]] Result<std::unique_ptr<Service>> make_service(const HostSymbols& symbols,
                                                            BoundBackend bound);

/// The service, or null before the first call and after fini(). Hidden; trivially destructible.
extern Lazy<Service> the_service;

/// Makes the service unless it exists: init(), or the first call of a host that never called it.
[[nodiscard]] Result<Service*> open_service();

/// fini(): destroys the service. Calls that follow make a new one.
void close_service() noexcept;

/// Calls `body(service)` behind the guard; the value of `on_failure` when the service cannot be
/// made or the body fails. `name` is the call's name in log lines.
template <class S, class T, class Body>
[[nodiscard]] T call_or(const char* name, T on_failure, Body&& body) noexcept {
  return guard_or(name, on_failure, [&]() -> decltype(body(std::declval<S&>())) {
    Service* service = the_service.peek();
    if (service == nullptr) [[unlikely]] {
      auto opened = open_service();
      if (!opened) return propagate(std::move(opened));
      service = *opened;
    }
    return body(static_cast<S&>(*service));
  });
}

/// As `call_or` for the integer functions of the C interfaces: 0 or the body's value, or -1.
template <class S, class Body>
[[nodiscard]] int call(const char* name, Body&& body) noexcept {
  return call_or<S>(name, -1, std::forward<Body>(body));
}

}  // namespace hal::plugin
