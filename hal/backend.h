// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "hal/config.h"
#include "hal/host.h"
#include "hal/result.h"

namespace hal {

class CredentialCodec;
class InterconnectController;
class InterconnectNode;
class CoreTopology;
class CoreReservation;
class ProcessAggregate;
class JobContainer;
class ControllerAccounting;
class NodeAccounting;

/// Handed to each factory. Both references outlive the role that the factory makes.
struct BackendContext {
  const BackendConfig& config;  ///< the section of hal.conf for this plugin type; may be empty
  Host& host;
};

template <class Role>
using RoleFactory = Result<std::unique_ptr<Role>> (*)(const BackendContext&);

/// One backend: a name and a factory per role. A null factory means "not offered". Factories
/// touch no hardware and open no vendor library: the first call that needs hardware does, because
/// controllers load plugins for adapters that only their nodes have.
struct BackendDescriptor {
  std::string_view name;
  RoleFactory<CredentialCodec> make_credential_codec = nullptr;
  RoleFactory<InterconnectController> make_interconnect_controller = nullptr;
  RoleFactory<InterconnectNode> make_interconnect_node = nullptr;
  RoleFactory<CoreTopology> make_core_topology = nullptr;
  RoleFactory<CoreReservation> make_core_reservation = nullptr;
  RoleFactory<ProcessAggregate> make_process_aggregate = nullptr;
  RoleFactory<JobContainer> make_job_container = nullptr;
  RoleFactory<ControllerAccounting> make_controller_accounting = nullptr;
  RoleFactory<NodeAccounting> make_node_accounting = nullptr;
  /// Static text of one of the backend's own codes (3000..3099); null for every other number.
  const char* (*describe_error)(int code) noexcept = nullptr;
};

/// What `bind` chose: the descriptor and the options it runs with.
struct BoundBackend {
  const BackendDescriptor* descriptor;
  BackendConfig config;
};

/// Chooses the backend of `plugin_type` ("switch/elan"): the built-in one, with the options of its
/// section of hal.conf. Called once from a plugin's init().
/// @return unsupported: the section asks (key `backend`) for something other than `builtin`, which
/// is the only kind of backend that this version can open.
[[nodiscard]] Result<BoundBackend> bind(std::string_view plugin_type,
                                        const BackendDescriptor& built_in, const Config& config);

}  // namespace hal
