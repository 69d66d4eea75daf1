// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/backend.h"

#include <cerrno>

#include "hal/interconnect.h"

namespace hal::elan {

const char* describe_error(int code) noexcept {
  switch (code) {
    case kNoSlurm:
      return "Elan: no resource manager";
    case kBadMagicLibState:
      return "Elan: saved switch state is damaged";
    case kBadMagicJobInfo:
      return "Elan: switch credential is damaged";
    case kInvalidProgramCreate:
      return "Elan: program number is in use on this node, or the cpu count is bad";
    case kChildrenProgramDestroy:
      return "Elan: program still has members";
    case kExistProgramDestroy:
      return "Elan: program to destroy does not exist";
    case kElanInit:
      return "Elan: too many users, or the adapter cannot be mapped";
    case kElanControl:
      return "Elan: vendor library or control device cannot be opened";
    case kElanCreate:
      return "Elan: the driver refused the capability";
    case kSearchAddCap:
      return "Elan: program that should get the capability does not exist";
    case kFaultAddCap:
      return "Elan: capability given to the program has a bad address";
    case kInvalidSetCap:
      return "Elan: capability index or context number is bad";
    case kFaultSetCap:
      return "Elan: capability chosen by the task has a bad address";
    case kGetNodeId:
      return "Elan: id of this node is unknown";
    case kGetNodeIdByHost:
      return "Elan: no Elan id for the host name";
    case kGetHostByNodeId:
      return "Elan: no host name for the Elan id";
    case kSearchProgramSignal:
      return "Elan: program to signal does not exist";
    case kInvalidProgramSignal:
      return "Elan: signal number is bad";
    default:
      return nullptr;
  }
}

Result<Flavour> flavour_of(const BackendConfig& config) {
  const std::string text = config.get("flavour", "elanctrl");
  if (text == "elanctrl") return Flavour::elanctrl;
  if (text == "elan3") return Flavour::elan3;
  return fail(Errc::invalid_argument, EINVAL,
              config.source() + ": flavour = " + text + ": must be elanctrl or elan3");
}

const BackendDescriptor backend{.name = "elan",
                                .make_credential_codec = make_codec,
                                .make_interconnect_controller = make_controller,
                                .make_interconnect_node = make_node,
                                .describe_error = describe_error};

}  // namespace hal::elan
