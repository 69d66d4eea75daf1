// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/mocks/elan/elan_abi.h"
#include "tests/mocks/mock_state.h"

/// What the mock Elan and RMS kernel modules remember, for all virtual nodes.
namespace backplane_mock {

inline constexpr std::size_t kMaxHandles = 2048;
inline constexpr std::size_t kMaxCapabilities = 4096;
inline constexpr std::size_t kMaxAttachments = 8192;
inline constexpr std::size_t kMaxPrograms = 2048;
inline constexpr std::size_t kMaxProgramCaps = 1024;
inline constexpr std::size_t kMaxServices = 1024;
inline constexpr std::size_t kMaxNames = 256;
inline constexpr std::size_t kMaxBuried = 256;

/// Switches of the mock kernel; numbers, so that a tool can set them by name.
enum Option : std::uint32_t {
  kNodes,                ///< nodes of the machine; attach refuses a higher id
  kRails,                ///< rails of each node
  kMaxVpsOption,         ///< span x contexts that a capability may have
  kMaxContext,           ///< highest context that create accepts; 0: no such check
  kRefuse7ff,            ///< early drivers: context 0x7FF refused
  kSetcapOffByOne,       ///< ctx == high-low+1 is accepted (the real module)
  kUnknownProgramErrno,  ///< of rms_prgdestroy for an unknown id: ESRCH (module 5) or EEXIST
  kShortPrginfoEinval,   ///< 1: prginfo fails when the array is short; 0: gives the full count
  kPrgaddcapRoot,        ///< 1: needs root, as the manual says
  kSignalRangeCheck,     ///< 1: prgsignal refuses signal numbers that do not exist
  kDeviceRootOnly,       ///< 1: the control device opens for root only
  kControlCloexec,       ///< 1: control handles are closed by exec
  kMaxProgramsOption,    ///< programs per node
  kMaxHandlesOption,     ///< control handles per node
  kMaxCapsOption,        ///< capabilities per node
  kReapSegments,         ///< 1: an exiting creator's statistics segment is marked for destruction
  kIgnoreTerm,           ///< members ignore SIGTERM of the next n rms_prgsignal calls
  kIgnoreKill,           ///< the same for SIGKILL (processes that hang in the kernel)
  kRmsFlavour,           ///< capability given to RMS: 0 as created, 1 libelanctrl, 2 libelan3
  kNeterrLoaded,         ///< read only: names loaded into the error service
  kOptionCount
};

struct OptionInfo {
  const char* name;
  std::int64_t initial;
};
[[nodiscard]] const OptionInfo& option_info(std::uint32_t option);

enum class Flavour : std::uint32_t { elanctrl = 1, elan3 = 2 };

/// A control handle lives as long as a process holds the description with its lock byte.
struct Handle {
  std::uint32_t used;
  std::int32_t node;
  std::int32_t pid;  ///< that opened it
  std::uint32_t padding;
};

/// The fields of a capability that the kernel compares.
struct Geometry {
  std::uint32_t key[4];
  std::int32_t version;
  std::int32_t type;
  std::int32_t low_context;
  std::int32_t high_context;
  std::int32_t my_context;
  std::int32_t low_node;
  std::int32_t high_node;
  std::uint32_t rail_mask;
};

struct Capability {
  std::uint32_t used;
  std::uint32_t closing;  ///< its handle is gone; attached processes keep the contexts busy
  std::int32_t node;
  std::uint32_t handle;
  Flavour flavour;
  Geometry geometry;
};

/// A process that uses a context; lives as long as its descriptor.
struct AttachmentEntry {
  std::uint32_t used;
  std::int32_t node;
  std::uint32_t rail;
  std::int32_t context;
  std::int32_t capability;  ///< -1: none is needed below the RMS range
  std::int32_t pid;
};

struct Program {
  std::uint32_t used;
  std::uint32_t generation;
  std::int32_t node;
  std::int32_t id;
  std::uint32_t uid;
  std::int32_t cpus;
  std::uint32_t killed;
  std::uint32_t suspended;
  std::int32_t parent;  ///< slot of the program in which it was created, or -1
  std::uint32_t parent_generation;
  std::int32_t root_pid;
  std::uint32_t padding;
  std::uint64_t root_start;
  std::uint64_t order;
};

struct ProgramCap {
  std::uint32_t used;
  std::uint32_t slot;
  std::int32_t index;
  Flavour flavour;
  std::uint64_t order;
  ELAN_CAPABILITY capability;  ///< the elan3 form occupies its start
};

struct ErrorService {
  std::uint32_t used;
  std::int32_t node;
  std::int32_t pid;
};

struct NodeName {
  char name[60];
  std::int32_t id;
};

/// A destroyed program, remembered for the segments that it may have left.
struct Buried {
  std::int32_t id;
  std::int32_t root_pid;
};

struct ElanState {
  CoreState core;
  std::int64_t options[kOptionCount];
  std::uint64_t next_order;
  std::uint32_t generation;  ///< of the next program; starts anywhere
  std::uint32_t buried_count;
  Handle handles[kMaxHandles];
  Capability capabilities[kMaxCapabilities];
  AttachmentEntry attachments[kMaxAttachments];
  Program programs[kMaxPrograms];
  ErrorService services[kMaxServices];
  NodeName names[kMaxNames];
  Buried buried[kMaxBuried];
  ProgramCap program_caps[kMaxProgramCaps];
};

/// Lock bytes of the three kinds of objects that die with a descriptor.
inline constexpr std::uint64_t kHandleLocks = 0;
inline constexpr std::uint64_t kAttachmentLocks = 1U << 20;
inline constexpr std::uint64_t kServiceLocks = 2U << 20;

[[nodiscard]] const StateLayout& elan_layout();

/// Clears tables, rules, trace and options; the guard is held.
void reset_state(ElanState& state);

/// Elan id of the virtual node on which the caller runs: SLURMD_NODENAME by table or by the number
/// at its end, else BACKPLANE_MOCK_NODE, else 0.
[[nodiscard]] int caller_node(const ElanState& state);
[[nodiscard]] int node_of_name(const ElanState& state, const char* name);

/// Drops handles, attachments and services whose last holder is gone, and then capabilities that
/// nothing keeps. The guard is held. `node` -1: all.
void sweep_node(ElanState& state, const Mapping& mapping, int node);

template <class Cap>
[[nodiscard]] Geometry geometry_of(const Cap& cap) {
  Geometry g{};
  for (int i = 0; i < 4; ++i) g.key[i] = cap.cap_userkey.key_values[i];
  g.version = cap.cap_version;
  g.type = cap.cap_type;
  g.low_context = cap.cap_lowcontext;
  g.high_context = cap.cap_highcontext;
  g.my_context = cap.cap_mycontext;
  g.low_node = cap.cap_lownode;
  g.high_node = cap.cap_highnode;
  g.rail_mask = cap.cap_railmask;
  return g;
}

/// The kernel's checks on a new capability. @return 0 or EINVAL. Source: Elan sheet 1.4.
[[nodiscard]] int check_new_capability(const ElanState& state, const Geometry& wanted, int node,
                                       Flavour flavour);

/// Creates it for a live handle after the checks. @return 0 or an errno value.
[[nodiscard]] int create_capability(ElanState& state, const Mapping& mapping, std::uint32_t handle,
                                    const Geometry& wanted, Flavour flavour);

/// Opens a control handle of `node`. @return 0 and fd and slot, or an errno value.
[[nodiscard]] int open_handle(ElanState& state, const Mapping& mapping, int node, int& fd,
                              std::uint32_t& slot);

/// The task's side: takes (rail, context) of `node`; `context` is the absolute one.
/// @return 0 and an fd that keeps it, or an errno value.
[[nodiscard]] int attach_context(ElanState& state, const Mapping& mapping, int node,
                                 const Geometry& wanted, int rail, int context, int& fd);

/// Position of a node, as elanctrl_get_position answers.
[[nodiscard]] ELAN_POSITION position_of(const ElanState& state, int node);

/// Key of a program's statistics segment. Source: Elan sheet 2.1.
[[nodiscard]] constexpr std::int32_t segment_key(std::int32_t program) {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(program) << 9U) - 1U);
}

}  // namespace backplane_mock
