// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace hal::test {

/// Makes the calls by which a state file reaches the disk (fsync, linkat, renameat) of this thread
/// go wrong, one at a time. The unit-test program replaces those three functions of libc.
class FailingCalls {
 public:
  enum class Way {
    error,   ///< the call answers -1 with EIO and does nothing
    crash,   ///< the process ends at once, before the call
    unlink,  ///< every linkat answers EPERM, as on file systems without hard links
  };

  /// From the `nth` call on (from 0) once, until destroyed.
  FailingCalls(Way way, int nth);
  ~FailingCalls();
  FailingCalls(const FailingCalls&) = delete;
  FailingCalls& operator=(const FailingCalls&) = delete;

  /// True once the chosen call was reached.
  [[nodiscard]] bool reached() const;

  static constexpr int kCrashStatus = 77;
};

}  // namespace hal::test
