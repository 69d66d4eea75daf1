// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <map>
#include <string>
#include <unordered_set>
#include <vector>

#include "host/elf_symbols.h"

namespace hal::host {

/// What system libraries define, read as the dynamic linker would find them but without loading
/// any. Keeps what it has read, so that many plugins can be checked at the cost of one. One thread.
class SystemLibraries {
 public:
  /// One needed library and what it leads to.
  struct Library {
    bool found = false;
    std::unordered_set<std::string> defined;
    std::vector<std::string> needed;
  };

  SystemLibraries();

  [[nodiscard]] const Library& find(const std::string& soname);

  /// `object`'s needed libraries, and theirs.
  [[nodiscard]] std::vector<std::string> closure(const ElfSymbols& object);

 private:
  std::vector<std::string> directories_;
  std::map<std::string, Library> known_;
};

}  // namespace hal::host
