// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace hal::classic {

/// Copies `text` to a caller's buffer, cut to fit and always terminated.
/// @return `buffer`; null if it is null or has no byte.
char* copy_text(char* buffer, std::size_t size, std::string_view text) noexcept;

/// A string argument of the host; null becomes empty.
[[nodiscard]] inline std::string_view text_of(const char* argument) noexcept {
  return argument != nullptr ? std::string_view(argument) : std::string_view();
}

}  // namespace hal::classic
