// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "hal/result.h"
#include "hal/vendor_library.h"

struct epoll_event;

namespace hal::host {

/// Somebody who waits for a descriptor. Must not be moved while it is watched.
class Pollable {
 public:
  virtual void ready(std::uint32_t events) = 0;

 protected:
  ~Pollable() = default;
};

/// One epoll set.
class Poller {
 public:
  [[nodiscard]] static Result<Poller> create();

  /// False when the kernel cannot watch it: a regular file, which is always ready.
  bool add(int fd, std::uint32_t events, Pollable& pollable);
  void change(int fd, std::uint32_t events, Pollable& pollable);
  void remove(int fd);

  /// Calls everybody who is ready; `timeout_ms` -1: no limit.
  void wait(int timeout_ms);

  /// In a child: gives the set up without touching the parent's.
  void close() noexcept { fd_.reset(); }

 private:
  UniqueFd fd_;
};

}  // namespace hal::host
