// SPDX-License-Identifier: BSD-3-Clause
#include "host/host_symbol.h"

#include <cstdlib>
#include <string>

extern "C" {
__attribute__((visibility("default"), used))
backplane_host backplane_host = {sizeof(struct backplane_host), 4, nullptr, nullptr, nullptr};
}

namespace hal::host {
namespace {

// Owners of the texts that the block points to; plugins may read them until the process ends.
std::string& hal_conf_text() {
  static auto& text = *new std::string;
  return text;
}

std::string& node_name_text() {
  static auto& text = *new std::string;
  return text;
}

}  // namespace

struct backplane_host& exported_block() noexcept {
  return ::backplane_host;
}

void publish_hal_conf(std::string_view path) {
  hal_conf_text() = path;
  ::backplane_host.hal_conf = path.empty() ? nullptr : hal_conf_text().c_str();
}

void publish_node_name(std::string_view name) {
  node_name_text() = name;
  if (name.empty()) {
    ::backplane_host.node_name = nullptr;
    ::unsetenv("SLURMD_NODENAME");
    return;
  }
  ::backplane_host.node_name = node_name_text().c_str();
  ::setenv("SLURMD_NODENAME", node_name_text().c_str(), 1);
}

void publish_switch_era(std::int32_t era) noexcept { ::backplane_host.switch_era = era; }

void publish_log(void (*log)(std::int32_t level, const char* message)) noexcept {
  ::backplane_host.log = log;
}

}  // namespace hal::host
