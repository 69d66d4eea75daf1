// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "hal/backend.h"

namespace hal::elan {

/// Quadrics Elan3/Elan4 (QsNet): roles CredentialCodec, InterconnectController, InterconnectNode.
///
/// Options of `[switch/elan]`, all optional:
/// | Key | Default | Meaning |
/// | --- | --- | --- |
/// | flavour | elanctrl | `elanctrl` (QsNetII, 2104-byte credentials) or `elan3` (124 bytes) |
/// | elanhosts | /etc/elanhosts | map of host names and Elan ids |
/// | librmscall, libelanctrl, libelan3 | lib*.so | vendor libraries; absolute path or file name |
/// | elan3_device | /proc/qsnet/elan3/device0 | its presence means Elan3 hardware |
/// | no_frag | yes | no job starts while another one ends |
/// | strict_state | no | `load` refuses a damaged state file (3001) instead of rebuilding it |
/// | open_wait_ms | 2000 | how long a capability may be refused by an ending step |
/// | term_grace_ms | 2000 | between SIGTERM and SIGKILL when a step's stragglers are ended |
/// | destroy_wait_ms | 30000 | after that, members that survive are error 3004 |
extern const BackendDescriptor backend;

/// Published error numbers of this backend. Source: Elan sheet 5.2.
enum ErrorCode : int {
  kNoSlurm = 3000,                 ///< placeholder, never set
  kBadMagicLibState = 3001,        ///< state file damaged
  kBadMagicJobInfo = 3002,         ///< credential damaged
  kInvalidProgramCreate = 3003,    ///< program number in use on this node, or bad cpu count
  kChildrenProgramDestroy = 3004,  ///< program still has members
  kExistProgramDestroy = 3005,     ///< no such program
  kElanInit = 3006,                ///< too many users, or mapping failed
  kElanControl = 3007,             ///< control device or vendor library cannot be opened
  kElanCreate = 3008,              ///< capability refused
  kSearchAddCap = 3009,            ///< program unknown
  kFaultAddCap = 3010,             ///< bad address
  kInvalidSetCap = 3011,           ///< bad index or context
  kFaultSetCap = 3012,             ///< bad address
  kGetNodeId = 3013,               ///< local Elan id unknown
  kGetNodeIdByHost = 3014,         ///< host name -> Elan id failed
  kGetHostByNodeId = 3015,         ///< Elan id -> host name failed
  kSearchProgramSignal = 3016,     ///< no such program
  kInvalidProgramSignal = 3017,    ///< bad signal
};

/// Numbers of the resource manager that its switch plugins set. Source: Elan sheet 5.1.
inline constexpr int kInterconnectFailure = 2022;
inline constexpr int kBadTaskCount = 2025;

/// Static text of one of the codes above; null for every other number.
[[nodiscard]] const char* describe_error(int code) noexcept;

/// Which vendor interface, and so which capability layout, a site runs.
enum class Flavour { elanctrl, elan3 };

/// The `flavour` option. @return invalid_argument: neither `elanctrl` nor `elan3`.
[[nodiscard]] Result<Flavour> flavour_of(const BackendConfig& config);

Result<std::unique_ptr<CredentialCodec>> make_codec(const BackendContext& context);
Result<std::unique_ptr<InterconnectController>> make_controller(const BackendContext& context);
Result<std::unique_ptr<InterconnectNode>> make_node(const BackendContext& context);

}  // namespace hal::elan
