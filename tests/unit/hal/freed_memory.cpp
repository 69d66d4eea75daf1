// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/hal/freed_memory.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace hal::test {
namespace {

struct Watch {
  const void* block = nullptr;
  std::size_t size = 0;
  bool freed = false;
  bool zeros = false;
};

thread_local Watch watch;

void look_at(const void* block) noexcept {
  if (block == nullptr || block != watch.block || watch.freed) return;
  const auto bytes = std::span(static_cast<const std::byte*>(block), watch.size);
  watch.freed = true;
  watch.zeros = std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

}  // namespace

FreedMemory::FreedMemory(std::span<const std::byte> block) {
  watch = {block.data(), block.size(), false, false};
}
FreedMemory::~FreedMemory() { watch = {}; }
bool FreedMemory::freed_as_zeros() const { return watch.freed && watch.zeros; }

}  // namespace hal::test

void* operator new(std::size_t size) {
  if (void* const block = std::malloc(size > 0 ? size : 1)) return block;
  throw std::bad_alloc();
}

void operator delete(void* block) noexcept {
  hal::test::look_at(block);
  std::free(block);
}

void operator delete(void* block, std::size_t) noexcept {
  hal::test::look_at(block);
  std::free(block);
}
