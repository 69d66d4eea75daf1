// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <sys/types.h>
#include <vector>

#include "tests/mocks/elan/elan_state.h"

/// Who belongs to which RMS program. The kernel itself keeps the answer: a member carries a mark in
/// its soft RLIMIT_RTTIME, a limit that only real-time processes meet and that fork, exec, setsid
/// and a change of user all hand on. Orphans cannot lose it, whatever became of their parents.
namespace backplane_mock {

inline constexpr int kNoIndex = -1;
inline constexpr int kNoContext = -1;
inline constexpr int kMaxCapIndex = 14;
inline constexpr int kMaxCapContext = 0xFFE;

/// A program of one state file, and what the process chose with rms_setcap.
struct Mark {
  std::uint32_t slot = 0;
  std::uint32_t generation = 0;
  int index = kNoIndex;
  int context = kNoContext;
};

struct Member {
  pid_t pid;
  std::uint64_t start;  ///< clock ticks after boot
  Mark mark;
};

/// The mark of a process; 0 is the caller. Nothing if it has none of this state.
[[nodiscard]] std::optional<Mark> mark_of(const ElanState& state, pid_t pid);

/// Marks the calling process. @return 0, or ENOMEM where the limit cannot be set.
[[nodiscard]] int mark_self(const ElanState& state, const Mark& mark);

/// Start time of a process that runs, or nothing if it is gone or a zombie.
[[nodiscard]] std::optional<std::uint64_t> running_since(pid_t pid);

/// Slot of the live program that the mark names, or -1.
[[nodiscard]] int program_of(const ElanState& state, const Mark& mark);

/// True if the marked process is in `slot` or in a program that was made inside it.
[[nodiscard]] bool is_member(const ElanState& state, const Mark& mark, std::uint32_t slot);

/// Running members of `slot`, newest first, its first member last.
[[nodiscard]] std::vector<Member> members_of(const ElanState& state, std::uint32_t slot);

/// Marks for destruction the statistics segment of a program whose creator is gone.
void reap_segment(const ElanState& state, std::int32_t program, pid_t creator);

/// Ids of segments with this key that `creator` made.
[[nodiscard]] std::vector<int> segments_of(std::int32_t key, pid_t creator);

}  // namespace backplane_mock
