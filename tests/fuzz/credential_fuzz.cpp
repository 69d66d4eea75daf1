// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <memory>

#include "backends/elan/capability.h"
#include "hal/interconnect.h"
#include "tests/fuzz/fuzz_target.h"

using hal::fuzz::require;

namespace {

class NoHost final : public hal::Host {
 public:
  void log(hal::LogLevel, std::string_view) override {}
  std::string node_name() override { return "n0"; }
  hal::Clock& clock() override { return hal::system_clock(); }
};

std::unique_ptr<hal::CredentialCodec> codec_of(const char* flavour) {
  static NoHost host;
  const hal::BackendConfig config("fuzz", {{"flavour", flavour}});
  return std::move(*hal::elan::backend.make_credential_codec({config, host}));
}

/// Both flavours read the same bytes; what one accepts must survive every use of it.
void check(const hal::CredentialCodec& codec, std::span<const std::byte> input) {
  hal::ByteReader reader(input);
  const auto decoded = codec.decode(reader);
  if (!decoded) {
    require(decoded.error().code == hal::elan::kBadMagicJobInfo, "damage has one number");
    return;
  }
  const auto used = input.first(input.size() - reader.remaining());
  require(std::ranges::equal(codec.encode(*decoded), used), "a credential has one form only");
  require(!codec.describe(*decoded).empty() && !codec.describe_long(*decoded).empty(),
          "a credential can be described");
  if (!decoded->built()) return;
  const auto fields = hal::elan::read_capability(*decoded);
  require(fields.has_value(), "what was decoded can be read");
  const hal::NodeSet nodes = hal::elan::nodes_of(decoded->wire(), *fields);
  require(nodes.lowest() == fields->low_node && nodes.highest() == fields->high_node,
          "nodes stay in the range");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto elanctrl = codec_of("elanctrl");
  static const auto elan3 = codec_of("elan3");
  const auto input = hal::fuzz::bytes(data, size);
  check(*elanctrl, input);
  check(*elan3, input);
  return 0;
}
