// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>

namespace hal::test {

/// Looks at one heap block in the moment it is freed. The unit-test program replaces operator
/// delete for that. One at a time per thread.
class FreedMemory {
 public:
  /// `block` starts where its allocation does.
  explicit FreedMemory(std::span<const std::byte> block);
  ~FreedMemory();
  FreedMemory(const FreedMemory&) = delete;
  FreedMemory& operator=(const FreedMemory&) = delete;

  /// True if the block was freed, and held nothing but zeros then.
  [[nodiscard]] bool freed_as_zeros() const;
};

}  // namespace hal::test
