// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "hal/vendor_library.h"
#include "host/poller.h"

namespace hal::host {

/// Copies one input to every task: each gets all of it, at its own speed, and the source is read no
/// further than a window ahead of the slowest one that still reads.
class InputPump final : public Pollable {
 public:
  /// `source` is borrowed and its flags are not changed.
  InputPump(Poller& poller, int source) : poller_(&poller), source_(source) {}
  InputPump(const InputPump&) = delete;
  InputPump& operator=(const InputPump&) = delete;
  ~InputPump() = default;

  /// Adds the task of that rank; `fd` is the write end of its pipe.
  void add_task(std::uint32_t rank, UniqueFd fd);

  /// The task has ended: nothing more is kept for it.
  void drop_task(std::uint32_t rank);

  void start();
  void ready(std::uint32_t events) override;

  /// True if the source cannot be watched and has to be read whenever there is room.
  [[nodiscard]] bool wants_turn() const noexcept;

  /// In a child.
  void close_all() noexcept;

  static constexpr std::size_t kWindow = std::size_t{1} << 20;

 private:
  struct Task final : Pollable {
    InputPump* pump = nullptr;
    std::uint32_t rank = 0;
    UniqueFd fd;
    std::size_t offset = 0;  ///< into the window
    bool watched = false;
    void ready(std::uint32_t events) override;
  };

  void feed(Task& task);
  void feed_all();
  void close_task(Task& task);
  void shrink();
  void update_source();

  Poller* poller_;
  int source_;
  bool source_open_ = false;
  bool source_watched_ = false;
  bool always_ready_ = false;
  std::size_t live_ = 0;
  std::string window_;
  std::vector<std::unique_ptr<Task>> tasks_;
};

}  // namespace hal::host
