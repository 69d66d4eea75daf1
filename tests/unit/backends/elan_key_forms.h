// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdio>
#include <set>
#include <span>
#include <string>

#include "backends/elan/capability.h"
#include "backends/elan/wire_words.h"

namespace hal::elan::test {

/// Every form in which the key of one wire form could stand in a text: each word in hexadecimal of
/// both cases and byte orders, in decimal with and without sign, and as raw bytes. Small words are
/// left out, because any number could be one.
inline std::set<std::string> forms_of_key(std::span<const std::byte> wire) {
  std::set<std::string> forms;
  const auto add = [&](const char* pattern, std::uint32_t word) {
    char text[16];
    std::snprintf(text, sizeof text, pattern, word);
    forms.insert(text);
  };
  for (std::size_t at = kKeyOffset; at < kKeyOffset + kKeySize; at += 4) {
    const std::uint32_t big = load_word(&wire[at]);
    for (const std::uint32_t word : {big, __builtin_bswap32(big)}) {
      if (word < 0x10000000) continue;
      for (const char* pattern : {"%08x", "%08X", "%u", "%d"}) add(pattern, word);
      forms.emplace(reinterpret_cast<const char*>(&word), sizeof word);
    }
  }
  return forms;
}

/// Those of `forms` that `text` holds.
inline std::set<std::string> found_in(const std::string& text, const std::set<std::string>& forms) {
  std::set<std::string> found;
  for (const std::string& form : forms) {
    if (text.find(form) != std::string::npos) found.insert(form);
  }
  return found;
}

}  // namespace hal::elan::test
