// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "hal/result.h"

namespace hal {

/// Where a site keeps hal.conf unless the host names another file.
inline constexpr std::string_view kDefaultConfigPath = "/etc/backplane/hal.conf";

/// Options of one plugin type: one `[switch/elan]` section of hal.conf. Keys are lower case.
class BackendConfig {
 public:
  BackendConfig() = default;
  BackendConfig(std::string source, std::map<std::string, std::string, std::less<>> options)
      : source_(std::move(source)), options_(std::move(options)) {}

  /// The value of `key`, or `fallback` when the section does not have it.
  [[nodiscard]] std::string get(std::string_view key, std::string_view fallback = {}) const;

  [[nodiscard]] bool has(std::string_view key) const { return options_.contains(key); }

  /// A decimal number in [lowest, highest], or `fallback` when absent.
  /// @return invalid_argument: present but not such a number; the detail names file, key, range.
  [[nodiscard]] Result<std::uint64_t> get_number(std::string_view key, std::uint64_t fallback,
                                                 std::uint64_t lowest, std::uint64_t highest) const;

  /// yes/no/true/false/1/0 in any case, or `fallback` when absent.
  [[nodiscard]] Result<bool> get_flag(std::string_view key, bool fallback) const;

  /// An absolute path, or empty when absent.
  /// @return invalid_argument: present but relative or with a NUL byte.
  [[nodiscard]] Result<std::string> get_path(std::string_view key) const;

  /// "file:line" of the section header, for messages; empty for a default section.
  [[nodiscard]] const std::string& source() const noexcept { return source_; }

  [[nodiscard]] const std::map<std::string, std::string, std::less<>>& options() const noexcept {
    return options_;
  }

 private:
  std::string source_;
  std::map<std::string, std::string, std::less<>> options_;
};

/// All sections of hal.conf. Grammar: `[type/minor]` headers, `key = value` lines, `#` or `;`
/// comments at the start of a line or after blanks, blank lines; at most 1 MiB, 4096 bytes a line,
/// 1024 sections.
class Config {
 public:
  /// Parses text; `name` is used in messages.
  /// @return invalid_argument, with "name:line: reason": key outside a section, unknown form,
  /// the same section or key twice, a control character.
  [[nodiscard]] static Result<Config> parse(std::string_view text, std::string_view name);

  /// Reads a file by descriptor. It must be a regular file owned by root or the effective user and
  /// writable by its owner only; a link in its place is refused. A missing file is an empty
  /// configuration.
  /// @return no_permission: a link, other owner or mode; invalid_argument: not a regular file, or
  /// as `parse`.
  [[nodiscard]] static Result<Config> load(const std::string& path);

  /// The section for `plugin_type`; an empty one when the file has none.
  [[nodiscard]] BackendConfig section(std::string_view plugin_type) const;

  [[nodiscard]] const std::map<std::string, BackendConfig, std::less<>>& sections() const noexcept {
    return sections_;
  }

 private:
  std::map<std::string, BackendConfig, std::less<>> sections_;
};

}  // namespace hal
