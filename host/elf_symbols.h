// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "hal/result.h"

namespace hal::host {

/// One entry of a dynamic symbol table.
struct ElfSymbol {
  std::string name;
  std::uint64_t value = 0;  ///< address as linked
  std::uint64_t size = 0;
  bool defined = false;
  bool function = false;
  bool weak = false;
};

/// What the dynamic linker would read of a shared object, read without running it.
class ElfSymbols {
 public:
  static constexpr std::size_t kMaxFile = std::size_t{256} << 20;
  static constexpr std::size_t kMaxSymbols = std::size_t{1} << 20;

  /// Decodes the bytes of a whole file: 64-bit ELF of this machine's byte order and kind. Every
  /// offset, count and string is checked against the file.
  /// @return corrupt: names the part that does not decode; unsupported: other class or machine.
  [[nodiscard]] static Result<ElfSymbols> parse(std::span<const std::byte> file);

  /// Reads and decodes the file behind an open descriptor.
  [[nodiscard]] static Result<ElfSymbols> read(int fd);

  [[nodiscard]] const std::vector<ElfSymbol>& symbols() const noexcept { return symbols_; }
  [[nodiscard]] const std::vector<std::string>& needed() const noexcept { return needed_; }
  [[nodiscard]] const std::string& soname() const noexcept { return soname_; }

  /// The definition of `name`, or null.
  [[nodiscard]] const ElfSymbol* find(std::string_view name) const noexcept;

  /// Initial value of a text constant such as plugin_type, at most 256 bytes.
  [[nodiscard]] std::optional<std::string> text_of(std::string_view name) const;

  /// Initial value of a 32-bit number such as plugin_version.
  [[nodiscard]] std::optional<std::uint32_t> number_of(std::string_view name) const;

 private:
  friend class ElfReader;

  std::vector<ElfSymbol> symbols_;
  std::vector<std::string> needed_;
  std::string soname_;
  std::vector<std::pair<std::string, std::string>> constants_;  ///< first bytes of data symbols
};

}  // namespace hal::host
