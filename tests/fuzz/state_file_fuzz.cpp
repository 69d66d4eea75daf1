// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "hal/state_file.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;

namespace {

constexpr std::uint32_t kMagic = 0x48414c31U;  // "HAL1"

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = hal::fuzz::bytes(data, size);
  if (const auto opened = hal::unseal(kMagic, input)) {
    require(std::ranges::equal(hal::seal(kMagic, opened->version, opened->payload), input),
            "an envelope has one form only");
  }
  const auto sealed = hal::seal(kMagic, 7, input);
  const auto opened = hal::unseal(kMagic, sealed);
  require(opened && opened->version == 7 && std::ranges::equal(opened->payload, input),
          "unseal undoes seal");
  require(!hal::unseal(kMagic + 1, sealed), "another magic is refused");
  return 0;
}
