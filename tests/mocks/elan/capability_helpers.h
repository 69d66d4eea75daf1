// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <bit>
#include <cstdio>
#include <cstring>

#include "tests/mocks/elan/elan_abi.h"

/// The vendor's functions on a capability alone, for both layouts. Source: Elan sheet 1.3, 3.4.
namespace backplane_mock {

template <class Cap>
void null_capability(Cap& cap) {
  std::memset(&cap, 0xFF, sizeof cap);
  cap.cap_version = kCapVersion;
  cap.cap_spare = 0;
  std::memset(cap.cap_bitmap, 0, sizeof cap.cap_bitmap);
}

template <class Cap>
int rail_count(const Cap& cap) {
  return (cap.cap_type & kTypeMultiRail) != 0 ? std::popcount(cap.cap_railmask) : 1;
}

/// Prints the key too, as the vendor does, and trusts the caller's buffer.
template <class Cap>
char* capability_text(const Cap* cap, char* out) {
  if (cap == nullptr) {
    static constexpr char kNone[] = "[-.-.-.-] Version - Type - \nContext -.-.- Node -.-";
    std::memcpy(out, kNone, sizeof kNone);
    return out;
  }
  const std::uint32_t* key = cap->cap_userkey.key_values;
  (void)std::sprintf(
      out, "[%x.%x.%x.%x] Version %x Type %x \nContext %x.%x.%x Node %x.%x", key[0], key[1], key[2],
      key[3], static_cast<unsigned>(cap->cap_version), static_cast<unsigned>(cap->cap_type),
      static_cast<unsigned>(cap->cap_lowcontext), static_cast<unsigned>(cap->cap_mycontext),
      static_cast<unsigned>(cap->cap_highcontext), static_cast<unsigned>(cap->cap_lownode),
      static_cast<unsigned>(cap->cap_highnode));
  return out;
}

/// Calls `visit(vp, location)` for each process in the order of process numbers until it is false.
template <class Cap, class Visit>
void for_each_process_slot(const Cap& cap, Visit&& visit) {
  const int nodes = cap.cap_highnode - cap.cap_lownode + 1;
  const int contexts = cap.cap_highcontext - cap.cap_lowcontext + 1;
  const bool cyclic = (cap.cap_type & kTypeMask) == kTypeCyclic;
  const bool all = (cap.cap_type & kTypeNoBitmap) != 0;
  const int limit = static_cast<int>(sizeof cap.cap_bitmap) * 8;
  if (nodes <= 0 || contexts <= 0 || nodes > limit / contexts) return;
  int process = 0;
  for (int bit = 0; bit < nodes * contexts; ++bit) {
    const auto word = static_cast<unsigned>(bit) / 32U;
    if (!all && (cap.cap_bitmap[word] >> (static_cast<unsigned>(bit) % 32U) & 1U) == 0) continue;
    const int node = cyclic ? bit % nodes : bit / contexts;
    const int context = cyclic ? bit / nodes : bit % contexts;
    const ELAN_LOCATION location{static_cast<std::uint16_t>(node),
                                 static_cast<std::uint16_t>(context)};
    if (!visit(process++, location)) return;
  }
}

template <class Cap>
ELAN_LOCATION location_of(int process, const Cap& cap) {
  ELAN_LOCATION found{0xFFFF, 0xFFFF};
  for_each_process_slot(cap, [&](int p, const ELAN_LOCATION& location) {
    if (p == process) found = location;
    return p != process;
  });
  return found;
}

template <class Cap>
int process_at(const ELAN_LOCATION& wanted, const Cap& cap) {
  int found = 0x7fffffff;
  for_each_process_slot(cap, [&](int p, const ELAN_LOCATION& location) {
    const bool hit =
        location.loc_node == wanted.loc_node && location.loc_context == wanted.loc_context;
    if (hit) found = p;
    return !hit;
  });
  return found;
}

template <class Cap>
int process_count(const Cap& cap) {
  int count = 0;
  for_each_process_slot(cap, [&](int, const ELAN_LOCATION&) { return ++count != 0; });
  return count;
}

/// Processes of a relative node; the first `size` of their numbers go to `out`.
template <class Cap>
int local_processes(int node, const Cap& cap, int* out, int size) {
  int count = 0;
  for_each_process_slot(cap, [&](int p, const ELAN_LOCATION& location) {
    if (location.loc_node == node) {
      if (count < size) out[count] = p;
      ++count;
    }
    return true;
  });
  return count;
}

}  // namespace backplane_mock
