// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

#include "hal/result.h"

namespace hal::host {

/// Whom the tasks run as.
struct Identity {
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> groups;
  std::string user;   ///< empty when the caller's own identity is kept
  std::string home;   ///< likewise
  std::string shell;  ///< likewise
  bool changes = false;
};

/// The identity that `--uid` and `--gid` (names or numbers) ask for; the caller's own without them.
/// @return no_permission: another identity, and the caller is not root; not_found: no such user or
/// group.
[[nodiscard]] Result<Identity> find_identity(const std::optional<std::string>& user,
                                             const std::optional<std::string>& group);

/// Turns the process into `identity` for good: groups, then group, then user, real, effective and
/// saved; verified, and verified that root cannot be had again. Nothing when it `changes` nothing.
[[nodiscard]] Result<> become(const Identity& identity);

/// Acts as `identity` on files until destroyed, so that a path of the user's choice is opened with
/// the user's rights. Nothing when it `changes` nothing. Going back must work: ends the process
/// otherwise.
class ActAs {
 public:
  [[nodiscard]] static Result<ActAs> begin(const Identity& identity);
  ActAs(ActAs&& other) noexcept;
  ActAs& operator=(ActAs&&) = delete;
  ~ActAs();

 private:
  ActAs() = default;

  bool active_ = false;
  gid_t old_gid_ = 0;
  std::vector<gid_t> old_groups_;
};

}  // namespace hal::host
