// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>

#include "hal/result.h"
#include "hal/vendor_library.h"

namespace hal::linux_host {

/// What one line of /proc/<pid>/stat says, as far as trackers ask.
struct ProcStat {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  std::uint32_t flags = 0;         ///< kernel's PF_ bits, field 9
  std::uint32_t thread_count = 0;  ///< field 20
  std::uint64_t start_ticks = 0;   ///< since boot, field 22: with the pid, who the process is
  char state = '?';
  std::uint8_t name_size = 0;
  std::array<char, 64> name_bytes{};  ///< first bytes of the name; the kernel's limit is 15 or 63

  [[nodiscard]] std::string_view name() const noexcept { return {name_bytes.data(), name_size}; }

  /// Nothing of the process runs any more. A process whose first thread has exited is in state Z
  /// too, but its other threads live on, and so does the process.
  [[nodiscard]] bool is_dead() const noexcept;

  [[nodiscard]] bool is_kernel_thread() const noexcept;
};

/// Parses the text of a stat file. The name reaches from the first '(' to the last ')', because a
/// process chooses it freely: blanks, brackets and forged fields stay inside.
/// @return nothing when a field is missing, not a number, or out of range.
[[nodiscard]] std::optional<ProcStat> parse_proc_stat(std::string_view text) noexcept;

/// A mounted /proc, or a tree that looks like one, held by descriptor. Thread safe.
class ProcFs {
 public:
  /// @return no_device: not a directory that can be opened.
  [[nodiscard]] static Result<ProcFs> open(const std::string& root = "/proc");

  /// @return no_device: the tree shows another PID namespace than the caller's, so that its numbers
  /// name other processes here.
  [[nodiscard]] Result<> require_own_namespace() const;

  /// Reads one process without allocating; nothing when it is gone or its file does not parse.
  [[nodiscard]] std::optional<ProcStat> find(pid_t pid) const noexcept;

  /// As `find`, with the reason.
  /// @return not_found (ESRCH): no such process; corrupt: the file does not parse; else errno.
  [[nodiscard]] Result<ProcStat> stat(pid_t pid) const;

  /// "name, state D in do_exit" for messages, printable whatever the process calls itself.
  [[nodiscard]] std::string describe(pid_t pid) const;

  [[nodiscard]] int descriptor() const noexcept { return root_.get(); }

 private:
  explicit ProcFs(UniqueFd root) : root_(std::move(root)) {}

  UniqueFd root_;
};

/// One pass over the process numbers of a ProcFs, in the kernel's order. Reads whole blocks of the
/// directory and allocates nothing.
class PidScan {
 public:
  explicit PidScan(const ProcFs& proc) noexcept;

  /// The next number, or 0 at the end or after an error.
  [[nodiscard]] pid_t next() noexcept;

  /// errno of the call that ended the pass early, or 0.
  [[nodiscard]] int error() const noexcept { return error_; }

 private:
  [[nodiscard]] bool refill() noexcept;

  UniqueFd directory_;
  int error_ = 0;
  std::size_t used_ = 0;
  std::size_t filled_ = 0;
  alignas(std::uint64_t) std::array<char, 32768> block_;
};

/// The number that `name` spells, or 0: plain decimal digits without a leading zero that fit.
[[nodiscard]] pid_t parse_pid(std::string_view name) noexcept;

}  // namespace hal::linux_host
