// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/memory.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace hal::classic {
namespace {

constexpr std::uint32_t kBlockMagic = 0x42;

struct TwoInts {
  std::uint32_t magic;
  std::uint32_t size;
};
static_assert(sizeof(TwoInts) == 8);

struct TwoWords {
  std::uint64_t magic;
  std::uint64_t size;
};
static_assert(sizeof(TwoWords) == 16);

constexpr std::size_t header_size(HeaderForm form) noexcept {
  return form == HeaderForm::two_ints ? sizeof(TwoInts) : sizeof(TwoWords);
}

/// Copies the bytes before a block. Not instrumented: with the short header, the first eight of
/// them belong to the heap.
template <class Header>
__attribute__((no_sanitize("address", "thread"))) Header header_before(
    const void* pointer) noexcept {
  Header header;
  const auto* from =
      static_cast<const volatile std::uint32_t*>(pointer) - sizeof(Header) / sizeof(std::uint32_t);
  std::uint32_t words[sizeof(Header) / sizeof(std::uint32_t)];
  for (std::size_t i = 0; i < sizeof(Header) / sizeof(std::uint32_t); ++i) words[i] = from[i];
  __builtin_memcpy(&header, words, sizeof header);
  return header;
}

void write_header(void* base, HeaderForm form, std::size_t size) noexcept {
  if (form == HeaderForm::two_ints) {
    const TwoInts header{kBlockMagic, static_cast<std::uint32_t>(size)};
    std::memcpy(base, &header, sizeof header);
  } else {
    const TwoWords header{kBlockMagic, size};
    std::memcpy(base, &header, sizeof header);
  }
}

}  // namespace

std::optional<HostBlock> find_block(const void* pointer) noexcept {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  if (pointer == nullptr || address % 8 != 0) return {};
  // Allocators align to 16, so a short header leaves a pointer 8 off: nothing that is known to be
  // mapped lies 16 before that.
  if (address % 16 == 0) {
    const auto words = header_before<TwoWords>(pointer);
    if (words.magic == kBlockMagic) return HostBlock{HeaderForm::two_words, words.size};
  }
  const auto ints = header_before<TwoInts>(pointer);
  if (ints.magic == kBlockMagic) return HostBlock{HeaderForm::two_ints, ints.size};
  return {};
}

void* allocate_block(HeaderForm form, std::size_t size) noexcept {
  if (size > kMaxBlock) return nullptr;
  auto* base = static_cast<std::byte*>(std::calloc(1, header_size(form) + size));
  if (base == nullptr) return nullptr;
  write_header(base, form, size);
  return base + header_size(form);
}

void* resize_block(void* pointer, const HostBlock& block, std::size_t size) noexcept {
  if (size > kMaxBlock) return nullptr;
  const std::size_t header = header_size(block.form);
  auto* base = static_cast<std::byte*>(
      std::realloc(static_cast<std::byte*>(pointer) - header, header + size));
  if (base == nullptr) return nullptr;
  if (size > block.size) std::memset(base + header + block.size, 0, size - block.size);
  write_header(base, block.form, size);
  return base + header;
}

void free_block(void* pointer) noexcept {
  const auto block = find_block(pointer);
  if (!block) return;
  auto* base = static_cast<std::byte*>(pointer) - header_size(block->form);
  std::memset(base, 0, header_size(block->form));  // a second free is then recognised
  std::free(base);
}

}  // namespace hal::classic
