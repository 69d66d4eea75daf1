// SPDX-License-Identifier: BSD-3-Clause
#include <string>

#include "hal/config.h"
#include "tests/fuzz/fuzz_target.h"

using hal::Config;
using hal::fuzz::require;

namespace {

/// The sections as text again. A value that begins with a comment sign had no blank before it.
std::string written(const Config& config) {
  std::string text;
  for (const auto& [type, section] : config.sections()) {
    text += "[" + type + "]\n";
    for (const auto& [key, value] : section.options()) {
      text.append(key).append("=").append(value).append("\n");
    }
  }
  return text;
}

void check_options(const hal::BackendConfig& section) {
  for (const auto& [key, value] : section.options()) {
    require(!key.empty() && section.get(key) == value, "get gives the value");
    require(value.find_first_of(std::string_view("\0\n\r", 3)) == std::string::npos,
            "no control character in a value");
    const auto number = section.get_number(key, 0, 5, 5000);
    require(!number || (*number >= 5 && *number <= 5000), "a number keeps its range");
    const auto path = section.get_path(key);
    require(!path || path->starts_with('/'), "a path is absolute");
    const auto flag = section.get_flag(key, false);
    require(flag || flag.error().detail.find(section.source()) == 0, "an error names its place");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto config = Config::parse(hal::fuzz::text(data, size), "hal.conf");
  if (!config) {
    require(config.error().detail.starts_with("hal.conf:"), "an error names its file");
    return 0;
  }
  for (const auto& [type, section] : config->sections()) check_options(section);
  const auto again = Config::parse(written(*config), "hal.conf");
  require(again.has_value(), "what was read can be written and read again");
  for (const auto& [type, section] : config->sections()) {
    require(again->section(type).options() == section.options(), "and means the same");
  }
  return 0;
}
