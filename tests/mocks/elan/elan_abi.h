// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

/// The vendor's C interface as far as the mocks offer it. Layouts: Elan sheet 1.1 (exact), 1.2 (a
/// reconstruction, with the newer field names).
// NOLINTBEGIN(readability-identifier-naming): the vendor's names
extern "C" {

struct ELAN_USERKEY {
  std::uint32_t key_values[4];
};

struct ELAN_CAPABILITY {
  ELAN_USERKEY cap_userkey;
  std::int32_t cap_version;
  std::uint16_t cap_type;
  std::uint16_t cap_spare;
  std::int32_t cap_lowcontext;
  std::int32_t cap_highcontext;
  std::int32_t cap_mycontext;
  std::int32_t cap_lownode;
  std::int32_t cap_highnode;
  std::uint32_t cap_railmask;
  std::uint32_t cap_bitmap[512];
};

struct ELAN3_CAPABILITY {
  ELAN_USERKEY cap_userkey;
  std::int32_t cap_version;
  std::uint16_t cap_type;
  std::uint16_t cap_spare;
  std::int32_t cap_lowcontext;
  std::int32_t cap_highcontext;
  std::int32_t cap_mycontext;
  std::int32_t cap_lownode;
  std::int32_t cap_highnode;
  std::int32_t cap_entries;
  std::uint32_t cap_railmask;
  std::uint32_t cap_bitmap[16];
};

struct ELAN_POSITION {
  std::uint32_t pos_mode;
  std::uint32_t pos_nodeid;
  std::uint32_t pos_levels;
  std::uint32_t pos_nodes;
  std::uint32_t pos_random_disabled;
  std::uint8_t pos_arity[8];
};

/// Relative node and context of a process; both 0xFFFF when there is none.
struct ELAN_LOCATION {
  std::uint16_t loc_node;
  std::uint16_t loc_context;
};

}  // extern "C"
// NOLINTEND(readability-identifier-naming)

static_assert(sizeof(ELAN_CAPABILITY) == 2096 && alignof(ELAN_CAPABILITY) == 4);
static_assert(offsetof(ELAN_CAPABILITY, cap_userkey) == 0);
static_assert(offsetof(ELAN_CAPABILITY, cap_version) == 16);
static_assert(offsetof(ELAN_CAPABILITY, cap_type) == 20);
static_assert(offsetof(ELAN_CAPABILITY, cap_spare) == 22);
static_assert(offsetof(ELAN_CAPABILITY, cap_lowcontext) == 24);
static_assert(offsetof(ELAN_CAPABILITY, cap_highcontext) == 28);
static_assert(offsetof(ELAN_CAPABILITY, cap_mycontext) == 32);
static_assert(offsetof(ELAN_CAPABILITY, cap_lownode) == 36);
static_assert(offsetof(ELAN_CAPABILITY, cap_highnode) == 40);
static_assert(offsetof(ELAN_CAPABILITY, cap_railmask) == 44);
static_assert(offsetof(ELAN_CAPABILITY, cap_bitmap) == 48);
static_assert(sizeof(ELAN3_CAPABILITY) == 116 && offsetof(ELAN3_CAPABILITY, cap_entries) == 44);
static_assert(offsetof(ELAN3_CAPABILITY, cap_railmask) == 48);
static_assert(offsetof(ELAN3_CAPABILITY, cap_bitmap) == 52);
static_assert(sizeof(ELAN_POSITION) == 28 && sizeof(ELAN_LOCATION) == 4);

namespace backplane_mock {

inline constexpr std::int32_t kCapVersion = 0x00010002;
inline constexpr std::uint16_t kTypeMask = 0x0FFF;
inline constexpr std::uint16_t kTypeBlock = 1;
inline constexpr std::uint16_t kTypeCyclic = 2;
inline constexpr std::uint16_t kTypeHwTest = 1U << 12;
inline constexpr std::uint16_t kTypeMultiRail = 1U << 13;
inline constexpr std::uint16_t kTypeNoBitmap = 1U << 14;
inline constexpr std::int32_t kFirstRmsContext = 0x400;
inline constexpr std::int32_t kLastUserContext = 0x7FF;
inline constexpr std::int32_t kMaxVps = 16384;
inline constexpr std::int32_t kMaxVpsElan3 = 512;

}  // namespace backplane_mock

#define BACKPLANE_MOCK_EXPORT __attribute__((visibility("default")))
