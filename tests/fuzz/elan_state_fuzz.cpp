// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>

#include "backends/elan/backend.h"
#include "backends/elan/saved_state.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto state = hal::elan::decode_state(hal::fuzz::bytes(data, size));
  if (!state) {
    require(state.error().code == hal::elan::kBadMagicLibState, "damage has one number");
    return 0;
  }
  require(state->next_program >= 1 && state->next_program <= 0x7FFFFFFF, "a next program");
  for (const auto& [program, grant] : state->contexts.grants()) {
    require(program >= 1 && grant.count >= 1 && grant.first + grant.count <= 1023 &&
                !grant.nodes.empty(),
            "grants are inside the contexts");
  }
  const auto saved = hal::elan::encode_state(*state);
  const auto again = hal::elan::decode_state(saved);
  require(again && again->next_program == state->next_program &&
              again->contexts.cursor() == state->contexts.cursor() &&
              again->contexts.grants().size() == state->contexts.grants().size(),
          "a state survives saving");
  require(std::ranges::equal(hal::elan::encode_state(*again), saved), "the present form is one");
  return 0;
}
