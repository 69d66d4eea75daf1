// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "hal/range_allocator.h"
#include "hal/result.h"

namespace hal::elan {

inline constexpr const char* kStateFileName = "qsw_state";

/// What outlives a controller: the live grants (keys are program numbers, numbers are offsets from
/// the first RMS context) and where to go on.
struct AllocationState {
  RangeAllocator contexts;
  std::uint32_t next_program;
};

/// Present form, big-endian: string "VER002" (u32 length 7, with NUL), magic 0xF00FF00F, next
/// program, next context offset, u32 count of grants; per grant program, low, high offset, u32
/// count of intervals, first and last Elan id of each; CRC-32C of all before it.
[[nodiscard]] std::vector<std::byte> encode_state(const AllocationState& state);

/// Decodes the present form and the older ones: "VER001" (u16 or u32 length, u16 count, node
/// ranges) and the bare magic, next program, next context of API version 0. Source: Elan sheet 4.2.
/// @return unsupported (3001): another version string; corrupt (3001): damaged, with extra bytes,
/// or with grants that overlap or lie outside.
[[nodiscard]] Result<AllocationState> decode_state(std::span<const std::byte> bytes);

}  // namespace hal::elan
