// SPDX-License-Identifier: BSD-3-Clause
#include "hal/types.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sys/random.h>

namespace hal {

void wipe(std::span<std::byte> bytes) noexcept {
  if (!bytes.empty()) ::explicit_bzero(bytes.data(), bytes.size());
}

Credential& Credential::operator=(const Credential& other) {
  if (this != &other) *this = Credential(other);
  return *this;
}

Credential& Credential::operator=(Credential&& other) noexcept {
  if (this != &other) {
    wipe(wire_);
    wire_ = std::exchange(other.wire_, {});
  }
  return *this;
}

void Credential::forget() noexcept { wipe(wire_); }

Secret& Secret::operator=(Secret&& other) noexcept {
  if (this != &other) {
    wipe(bytes_);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

Secret::~Secret() { wipe(bytes_); }

Secret Secret::random(std::size_t size) {
  Secret secret;
  secret.bytes_.resize(size);
  std::size_t filled = 0;
  while (filled < size) {
    const ssize_t got = ::getrandom(secret.bytes_.data() + filled, size - filled, 0);
    if (got > 0) {
      filled += static_cast<std::size_t>(got);
    } else if (errno != EINTR) {
      std::abort();  // a guessable key would be worse than no daemon
    }
  }
  return secret;
}

}  // namespace hal
