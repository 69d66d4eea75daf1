// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "hal/result.h"
#include "hal/types.h"
#include "hal/vendor_library.h"

namespace hal::host {

/// The directory that all runs of one user share (StateSaveLocation): the plugins' state, the
/// ledgers of running steps, and the job counter, whose file is also the lock that makes the runs'
/// controllers take turns.
class StateDirectory {
 public:
  /// Creates what is missing. @return kind of errno; no_permission: others could change it.
  [[nodiscard]] static Result<StateDirectory> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int ledgers() const noexcept { return ledgers_.get(); }

  /// What the lock's file says: numbers that only grow.
  struct Counters {
    std::uint32_t next_job = 1;
    std::uint64_t generation = 0;  ///< changes of the shared state so far
  };

  /// Holds the directory for one controller at a time.
  class Lock {
   public:
    Lock(Lock&& other) noexcept;
    Lock& operator=(Lock&&) = delete;
    ~Lock();

    [[nodiscard]] const Counters& counters() const noexcept { return counters_; }

    /// A job number that was never given before.
    [[nodiscard]] Result<JobId> take_job();

    /// The shared state has changed, or is about to.
    [[nodiscard]] Result<> count_change();

   private:
    friend class StateDirectory;
    explicit Lock(int fd) : fd_(fd) {}
    [[nodiscard]] Result<> write();

    int fd_;
    Counters counters_;
  };

  /// Waits for its turn. @return kind of errno.
  [[nodiscard]] Result<Lock> lock();

 private:
  std::string path_;
  UniqueFd directory_;
  UniqueFd ledgers_;
  UniqueFd lock_;
};

}  // namespace hal::host
