// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string_view>

#include "hal/host_abi.h"

namespace hal::host {

/// The block that this program exports to its plugins as data symbol `backplane_host`.
[[nodiscard]] struct backplane_host& exported_block() noexcept;

/// Copies the text into storage that lives as long as the process and publishes it. Call these
/// while the process has one thread: before plugins are opened, or in a child right after fork.
void publish_hal_conf(std::string_view path);

/// Also sets SLURMD_NODENAME in the environment, as a node daemon does.
void publish_node_name(std::string_view name);

/// Which arguments the switch calls get: 4, 5, 6 or 10.
void publish_switch_era(std::int32_t era) noexcept;

/// Where the plugins' log lines go; null: standard error.
void publish_log(void (*log)(std::int32_t level, const char* message)) noexcept;

}  // namespace hal::host
