// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "hal/vendor_library.h"
#include "host/poller.h"

namespace hal::host {

/// Where labelled lines of many tasks go: writes never block, what does not fit waits in memory,
/// and while too much waits the writers are held back.
class OutputSink final : public Pollable {
 public:
  /// `fd` is borrowed; a pipe or terminal is opened again for non-blocking use, so that the flags
  /// of a descriptor that is shared with others stay as they are.
  OutputSink(Poller& poller, int fd);
  /// A file of our own.
  OutputSink(Poller& poller, UniqueFd fd);
  OutputSink(const OutputSink&) = delete;
  OutputSink& operator=(const OutputSink&) = delete;
  ~OutputSink() = default;

  void write(std::string_view text);
  void ready(std::uint32_t events) override;

  /// Too much is waiting: do not read more input for this sink.
  [[nodiscard]] bool congested() const noexcept { return waiting_.size() - sent_ > kCongested; }

  /// The reader is gone; whatever is written is dropped.
  [[nodiscard]] bool dead() const noexcept { return dead_; }

  /// Writes everything that waits, blocking.
  void finish();

  static constexpr std::size_t kCongested = std::size_t{1} << 20;

 private:
  /// Bytes taken, or -1.
  std::ptrdiff_t write_some(std::string_view text);
  void drain();
  void watch(bool on);

  Poller* poller_;
  UniqueFd own_;
  int fd_ = -1;
  bool watched_ = false;
  bool piecewise_ = false;  ///< only PIPE_BUF bytes at a time are sure not to block
  bool dead_ = false;
  std::string waiting_;
  std::size_t sent_ = 0;
};

}  // namespace hal::host
