// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/service.h"

#include <cerrno>

#include "plugins/binding.h"

namespace hal::plugin {
namespace {

Result<std::unique_ptr<Service>> build_service() {
  const HostSymbols symbols = HostSymbols::find();
  auto config = Config::load(symbols.config_path());
  if (!config) return propagate(std::move(config));
  auto bound = bind(plugin_type, bound_backend(), *config);
  if (!bound) return propagate(std::move(bound));
  return make_service(symbols, *std::move(bound));
}

}  // namespace

constinit Lazy<Service> the_service;

Result<Service*> open_service() { return the_service.get(build_service); }

void close_service() noexcept { the_service.reset(); }

Failure Service::missing_role() const {
  return fail(Errc::unsupported, ENOSYS,
              "backend " + std::string(backend().name) + " does not offer this service; choose " +
                  "another minor type in the site's configuration");
}

}  // namespace hal::plugin
