// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <sys/types.h>
#include <vector>

#include "hal/vendor_library.h"

namespace hal::conformance {

/// One end of a two-way line between a test and a process that it started. Whoever finds the other
/// end closed in a child leaves at once, so a test that crashes leaves no process behind.
class Channel {
 public:
  explicit Channel(UniqueFd socket) : socket_(std::move(socket)) {}

  void send(std::int64_t value) const;
  [[nodiscard]] std::int64_t receive() const;

 private:
  UniqueFd socket_;
};

/// In a started process or what it forked: stays, doing nothing, until the test ends.
[[noreturn]] void park();

/// In a started process: forks one that parks. @return its number.
pid_t fork_parked();

/// In a started process: ends the calling first thread while another one lives on in the process.
/// `ready` runs in that other thread, after the first one has ended.
[[noreturn]] void leave_only_a_thread(const std::function<void()>& ready);

/// A forked child of the test; killed and reaped by the destructor.
class TestProcess {
 public:
  using Body = std::function<void(Channel&)>;

  /// Forks; the child runs `body` and then parks. `wanted` other than 0 asks the kernel for that
  /// number, which needs CAP_CHECKPOINT_RESTORE; without it, `pid` is -1.
  explicit TestProcess(const Body& body = {}, pid_t wanted = 0);
  ~TestProcess();
  TestProcess(const TestProcess&) = delete;
  TestProcess& operator=(const TestProcess&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] Channel& channel() noexcept { return channel_; }

  /// Waits for the end without reaping: afterwards the child is a zombie.
  void wait_for_zombie() const;

  /// Waits until the child is stopped by a signal.
  void wait_for_stop() const;

  /// Reaps. @return the signal that ended the child, or 0 when it left by itself.
  int reap();

  /// Neither ended nor a zombie now.
  [[nodiscard]] bool is_alive() const;

 private:
  explicit TestProcess(std::array<UniqueFd, 2> sockets, const Body& body, pid_t wanted);

  Channel channel_;
  pid_t pid_ = 0;
  bool reaped_ = false;
};

/// Counts, per signal, what a process receives; shared with what forks from the test afterwards.
class SignalCounts {
 public:
  SignalCounts();
  ~SignalCounts();
  SignalCounts(const SignalCounts&) = delete;
  SignalCounts& operator=(const SignalCounts&) = delete;

  /// In a started process: counts every signal that can be caught. Not before the fork.
  void install() const;

  [[nodiscard]] int of(int signal_number) const;
  [[nodiscard]] int total() const;

 private:
  struct Shared;
  Shared* shared_;
};

/// Waits, giving way to others, until `condition` holds. @return false after 20 s.
[[nodiscard]] bool wait_until(const std::function<bool()>& condition);

/// The state letter of a process as the kernel shows it, or 0 when there is none.
[[nodiscard]] char process_state(pid_t pid);

/// Descriptors that the calling process has open.
[[nodiscard]] std::vector<int> open_descriptors();

/// A number above everything that a kernel hands out.
inline constexpr pid_t kAbsentPid = 0x20000000;

}  // namespace hal::conformance
