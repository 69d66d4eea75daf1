// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <functional>

#include "hal/result.h"
#include "hal/vendor_library.h"
#include "host/poller.h"

namespace hal::host {

/// The signals that a step passes on, taken through a descriptor instead of handlers. Those that
/// whoever started the command had ignored (nohup, background jobs) stay ignored.
class SignalSource final : public Pollable {
 public:
  explicit SignalSource(std::function<void(int)> handler) : handler_(std::move(handler)) {}

  /// Blocks the signals, and SIGCHLD for the processes forked from here; `before` receives the mask
  /// as it was. Ignores SIGPIPE.
  [[nodiscard]] Result<> open(Poller& poller, sigset_t& before);

  void ready(std::uint32_t events) override;

  /// In a child.
  void close() noexcept { fd_.reset(); }

 private:
  std::function<void(int)> handler_;
  UniqueFd fd_;
};

}  // namespace hal::host
