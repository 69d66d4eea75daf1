// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/key_pool.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/random.h>

#include "hal/types.h"

namespace hal::elan {

struct KeyPool::Page {
  std::size_t left;  ///< keys; inside the page, so that a fork resets it too
  std::array<std::array<std::byte, kKeySize>, 255> keys;
};

KeyPool::KeyPool() {
  void* page =
      ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, sizeof(Page), MADV_WIPEONFORK) != 0) {
    ::munmap(page, sizeof(Page));
    return;
  }
  ::madvise(page, sizeof(Page), MADV_DONTDUMP);
  page_ = static_cast<Page*>(page);
}

KeyPool::~KeyPool() {
  if (page_ == nullptr) return;
  wipe(std::as_writable_bytes(std::span(page_, 1)));
  ::munmap(page_, sizeof(Page));
}

void KeyPool::refill() {
  auto* bytes = reinterpret_cast<std::byte*>(&page_->keys);
  std::size_t filled = 0;
  while (filled < sizeof page_->keys) {
    const ssize_t got = ::getrandom(bytes + filled, sizeof page_->keys - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      std::abort();
    }
  }
  page_->left = page_->keys.size();
}

void KeyPool::take(std::span<std::byte, kKeySize> key) {
  if (page_ == nullptr) {
    const Secret fresh = Secret::random(kKeySize);
    std::memcpy(key.data(), fresh.expose().data(), kKeySize);
    return;
  }
  if (page_->left == 0) refill();
  auto& next = page_->keys[--page_->left];
  std::memcpy(key.data(), next.data(), kKeySize);
  wipe(next);
}

}  // namespace hal::elan
