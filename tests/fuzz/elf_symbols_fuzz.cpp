// SPDX-License-Identifier: BSD-3-Clause
#include "host/elf_symbols.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;
using hal::host::ElfSymbol;
using hal::host::ElfSymbols;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto symbols = ElfSymbols::parse(hal::fuzz::bytes(data, size));
  if (!symbols) {
    require(symbols.error().code != 0 && !symbols.error().detail.empty(), "an error says why");
    return 0;
  }
  // A symbol takes 24 bytes of the file.
  require(symbols->symbols().size() <= size / 24, "no more symbols than the file can hold");
  for (const ElfSymbol& symbol : symbols->symbols()) {
    require(!symbol.name.empty() && symbol.name.size() < size, "a name lies in the file");
    require(symbol.name.find('\0') == std::string::npos, "a name ends at its NUL");
    if (symbol.defined) require(symbols->find(symbol.name) != nullptr, "a definition is found");
    const auto text = symbols->text_of(symbol.name);
    require(!text || text->size() <= 256, "a constant is bounded");
    require(!symbols->number_of(symbol.name) || symbol.name.starts_with("plugin_"),
            "only identity symbols have values");
  }
  return 0;
}
