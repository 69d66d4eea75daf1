// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/elan/backend.h"
#include "hal/range_allocator.h"
#include "hal/step_layout.h"
#include "hal/types.h"

namespace hal::elan {

// Wire form, big-endian. Source: Elan sheet 4.1.
// magic 4 | program 4 | key 16 | type 2 | spare 2 | version 4 | low, high, my context 12 |
// low, high node 8 | [entries 4, elan3 only] | rail mask 4 | bitmap 4 x words
inline constexpr std::uint32_t kCredentialMagic = 0xF00FF00E;
inline constexpr std::uint32_t kCapabilityVersion = 0x00010002;
inline constexpr std::size_t kKeySize = 16;
inline constexpr std::size_t kKeyOffset = 8;

inline constexpr std::uint32_t kMaxProgram = 0x7FFFFFFF;  ///< programs are 1..kMaxProgram
inline constexpr std::uint32_t kFirstContext = 0x400;
inline constexpr std::uint32_t kContextCount = 1023;  ///< 0x7FF: old drivers refuse it
inline constexpr std::uint32_t kMaxElanId = 16383;

inline constexpr std::uint16_t kTypeMask = 0x0FFF;
inline constexpr std::uint16_t kTypeBlock = 1;
inline constexpr std::uint16_t kTypeCyclic = 2;
inline constexpr std::uint16_t kTypeMultiRail = 1U << 13;
inline constexpr std::uint16_t kTypeBroadcastable = 1U << 15;

struct FlavourLimits {
  std::size_t wire_size;
  std::size_t bitmap_offset;
  std::uint32_t max_processes;  ///< bits of the bitmap: node span times contexts
};

[[nodiscard]] constexpr FlavourLimits limits_of(Flavour flavour) noexcept {
  return flavour == Flavour::elanctrl ? FlavourLimits{2104, 56, 16384}
                                      : FlavourLimits{124, 60, 512};
}

/// A validated capability without its key and bitmap.
struct Capability {
  Flavour flavour = Flavour::elanctrl;
  std::uint32_t program = 0;
  std::uint16_t type = 0;
  std::uint16_t spare = 0;
  std::uint32_t low_context = 0;
  std::uint32_t high_context = 0;
  std::uint32_t low_node = 0;
  std::uint32_t high_node = 0;
  std::uint32_t entries = 0;  ///< number of processes; elan3 only
  std::uint32_t rail_mask = 0;

  [[nodiscard]] bool cyclic() const noexcept { return (type & kTypeMask) == kTypeCyclic; }
  [[nodiscard]] std::uint32_t contexts() const noexcept { return high_context - low_context + 1; }
  [[nodiscard]] std::uint32_t span() const noexcept { return high_node - low_node + 1; }
  /// Key of the step's shared statistics segment. Source: Elan sheet 2.1.
  [[nodiscard]] std::int32_t statistics_key() const noexcept {
    return static_cast<std::int32_t>((program << 9) - 1);
  }
};

/// Checks every byte of one wire form: magic, program, version, type, ranges, `my context` still
/// open, node span times contexts within the bitmap, no bit outside them.
/// @return corrupt (3002), with the field. An unbuilt form (program 0) is corrupt here.
[[nodiscard]] Result<Capability> read_capability(std::span<const std::byte> wire, Flavour flavour);

/// As above; the flavour follows from the size of a credential.
[[nodiscard]] Result<Capability> read_capability(const Credential& credential);

/// True if the process slot of node offset `node`, context offset `context` is in the bitmap.
[[nodiscard]] bool has_slot(std::span<const std::byte> wire, const Capability& capability,
                            std::uint32_t node, std::uint32_t context);

/// The Elan ids on which the bitmap of a valid wire form has processes, with both ends of the
/// range.
[[nodiscard]] NodeSet nodes_of(std::span<const std::byte> wire, const Capability& capability);

/// What travels for a credential that was never built: the magic, then zeros. No built credential
/// looks like this, because its program number is not 0.
[[nodiscard]] std::span<const std::byte> unbuilt_wire(Flavour flavour) noexcept;

/// `count` neighbouring Elan ids from `first`.
struct NodeRun {
  std::uint32_t first;
  std::uint32_t count;
};

/// What build_capability needs and has not yet checked.
struct CapabilityPlan {
  Flavour flavour;
  std::uint32_t program;
  std::uint32_t first_context;  ///< offset from kFirstContext
  const StepLayout& layout;
  std::span<const NodeRun> runs;  ///< Elan ids in the layout's node order, strictly ascending
};

/// Checks that the step fits the capability: ids strictly ascending, contexts per node, node span
/// times contexts. @return invalid_argument.
[[nodiscard]] Result<> check_fit(Flavour flavour, const StepLayout& layout,
                                 std::span<const NodeRun> runs);

/// Writes the wire form of a plan that passed check_fit.
[[nodiscard]] Credential build_capability(const CapabilityPlan& plan,
                                          std::span<const std::byte, kKeySize> key);

}  // namespace hal::elan
