// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <sys/types.h>

#include "tests/mocks/elan/membership.h"

/// The RMS module's operations. All but the last run under the state's guard and answer 0 or an
/// errno value unless they say otherwise. Source: Elan sheet 1.3.
namespace backplane_mock {

/// Slot of program `id` on the caller's node, or -1.
[[nodiscard]] int find_program(const ElanState& state, int id);

/// Slot of the innermost program that holds the caller, or -1.
[[nodiscard]] int own_program(const ElanState& state, Mark& mark);

/// The newest capability of that index, or null.
[[nodiscard]] ProgramCap* find_cap(ElanState& state, int slot, int index);

/// Which capability layout a program that uses this key was given.
[[nodiscard]] Flavour flavour_of(const ElanState& state, const std::uint32_t* key);
[[nodiscard]] std::size_t size_of(Flavour flavour);

/// Bytes that rms_getcap writes: the fixed part and the used words of the bitmap.
[[nodiscard]] std::size_t used_size(const ProgramCap& cap);

[[nodiscard]] int create_program(ElanState& state, int id, uid_t uid, int cpus);
[[nodiscard]] int destroy_program(ElanState& state, int id);
[[nodiscard]] int signal_program(ElanState& state, int id, int signal_number);
[[nodiscard]] int list_members(ElanState& state, int id, int max, pid_t* pids, int* count);
[[nodiscard]] int stop_program(ElanState& state, int id, bool stop);

/// Delivers to the caller what it sent to its own program: after the guard, because a process that
/// stops with the guard stops everybody.
void send_pending_signal();

}  // namespace backplane_mock
