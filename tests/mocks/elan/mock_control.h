// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <utility>
#include <vector>

#include "tests/mocks/elan/elan_abi.h"

namespace backplane_mock {

/// One vendor call, as text.
struct TracedCall {
  std::uint64_t sequence = 0;
  std::uint64_t nanoseconds = 0;  ///< CLOCK_MONOTONIC
  pid_t pid = 0;
  uid_t uid = 0;
  int node = 0;
  std::string function;
  std::string arguments;
  std::int64_t result = 0;
  int error = 0;  ///< errno; 0 on success
};

/// A context that a process uses; given back by the destructor or the end of every holder.
class Attachment {
 public:
  explicit Attachment(int fd) noexcept : fd_(fd) {}
  Attachment(Attachment&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Attachment& operator=(Attachment&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Attachment();

 private:
  int fd_;
};

/// The test's hand on one mock kernel: the state file that the libraries find through
/// BACKPLANE_MOCK_STATE. Any process may hold one; all calls are thread safe.
class ElanMock {
 public:
  /// Creates or opens the file. @return nothing, with errno set, if it cannot be used.
  [[nodiscard]] static std::optional<ElanMock> open(const std::string& path);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Forgets objects, options, rules and trace. Processes that live on are in no program any more.
  void reset();

  /// The n-th call of `function` from now on (1 is the next, 0 every one) fails with `error`.
  /// @return false: too many rules, or no vendor function has such a long name.
  bool inject(const std::string& function, std::uint64_t nth, int error);
  bool delay(const std::string& function, std::uint64_t nth, std::int64_t milliseconds);
  bool kill_before(const std::string& function, std::uint64_t nth);
  bool kill_after(const std::string& function, std::uint64_t nth);

  /// Sets an option by the name that `options` lists. @return false: no such option.
  bool set_option(std::string_view name, std::int64_t value);
  [[nodiscard]] std::vector<std::pair<std::string, std::int64_t>> options() const;

  /// The Elan id of a node whose name does not end in it. @return false: table full, bad name.
  bool set_node(std::string_view name, int elan_id);
  [[nodiscard]] std::vector<std::pair<std::string, int>> nodes() const;

  /// Calls in the order of their effects; the oldest are gone after some thousand.
  [[nodiscard]] std::vector<TracedCall> trace() const;

  /// What is left: programs, capabilities, attachments, control handles, statistics segments; one
  /// line each. Empty is what a test wants to see.
  [[nodiscard]] std::vector<std::string> leaks();

  /// What a task's own library does: uses (rail, cap.cap_mycontext) of `node`.
  /// @return nothing, with errno set: the kernel refuses.
  [[nodiscard]] std::optional<Attachment> attach_check(int node, const ELAN_CAPABILITY& cap,
                                                       int rail = 0);
  [[nodiscard]] std::optional<Attachment> attach_check(int node, const ELAN3_CAPABILITY& cap,
                                                       int rail = 0);

  /// Times that a process died while it held the state's mutex.
  [[nodiscard]] std::uint32_t lock_owner_deaths() const;

 private:
  explicit ElanMock(std::string path) : path_(std::move(path)) {}

  std::string path_;
};

/// "17 12.345678 pid 4711 uid 0 node 3 rms_prgcreate(id=7 uid=1000 cpus=1) = 0"
[[nodiscard]] std::string to_string(const TracedCall& call);

}  // namespace backplane_mock
