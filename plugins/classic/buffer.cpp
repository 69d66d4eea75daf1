// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/buffer.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "plugins/classic/memory.h"

namespace hal::classic {
namespace {

constexpr std::size_t kGrowth = std::size_t{16} * 1024;

Result<> check(const HostBuffer* buffer) {
  if (buffer != nullptr && buffer->magic == kBufferMagic && buffer->head != nullptr &&
      buffer->processed <= buffer->size) {
    return {};
  }
  return fail(Errc::invalid_argument, EINVAL,
              "the host's message buffer is missing, damaged or of an unknown layout");
}

Result<> grow(HostBuffer& buffer, std::size_t needed) {
  const auto block = find_block(buffer.head);
  const std::size_t size = std::min<std::size_t>(needed + kGrowth, kMaxBuffer);
  void* head = block && needed <= kMaxBuffer ? resize_block(buffer.head, *block, size) : nullptr;
  if (head == nullptr) {
    return fail(Errc::exhausted, ENOBUFS,
                "the host's message buffer of " + std::to_string(buffer.size) +
                    " bytes cannot grow to " + std::to_string(needed));
  }
  buffer.head = static_cast<char*>(head);
  buffer.size = static_cast<std::uint32_t>(size);
  return {};
}

}  // namespace

Result<> append(HostBuffer* buffer, std::span<const std::byte> bytes) {
  if (auto checked = check(buffer); !checked) return checked;
  const std::size_t needed = buffer->processed + bytes.size();
  if (needed > buffer->size) {
    if (auto grown = grow(*buffer, needed); !grown) return grown;
  }
  if (!bytes.empty()) std::memcpy(buffer->head + buffer->processed, bytes.data(), bytes.size());
  buffer->processed = static_cast<std::uint32_t>(needed);
  return {};
}

Result<std::span<const std::byte>> unread(const HostBuffer* buffer) {
  if (auto checked = check(buffer); !checked) return propagate(std::move(checked));
  return std::as_bytes(
      std::span(buffer->head + buffer->processed, buffer->size - buffer->processed));
}

void consume(HostBuffer* buffer, std::size_t size) noexcept {
  buffer->processed += static_cast<std::uint32_t>(size);
}

}  // namespace hal::classic
