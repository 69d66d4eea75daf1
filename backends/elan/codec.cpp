// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>

#include "backends/elan/capability.h"
#include "hal/interconnect.h"

namespace hal::elan {
namespace {

/// printf into a string; the formats are those of the vendor and of the history.
template <class... Args>
std::string format(const char* pattern, Args... args) {
  char text[256];
  const int size = std::snprintf(text, sizeof text, pattern, args...);
  return std::string(text, static_cast<std::size_t>(std::clamp(size, 0, 255)));
}

class ElanCodec final : public CredentialCodec {
 public:
  explicit ElanCodec(Flavour flavour) : flavour_(flavour) {}

  Result<Credential> decode(ByteReader& reader) const override {
    const auto wire = reader.take(limits_of(flavour_).wire_size);
    if (!wire) {
      return fail(Errc::corrupt, kBadMagicJobInfo,
                  "Elan credential: message ends after " + std::to_string(reader.remaining()) +
                      " of its " + std::to_string(limits_of(flavour_).wire_size) + " bytes");
    }
    auto capability = read_capability(*wire, flavour_);
    if (!capability) {
      if (std::ranges::equal(*wire, unbuilt_wire(flavour_))) return Credential();
      return propagate(std::move(capability));
    }
    return Credential(std::vector<std::byte>(wire->begin(), wire->end()));
  }

  std::span<const std::byte> encode(const Credential& credential) const override {
    return credential.built() ? credential.wire() : unbuilt_wire(flavour_);
  }

  std::string describe(const Credential& credential) const override {
    const auto read = read_capability(credential);
    if (!read) return credential.built() ? "damaged" : "not built";
    std::string text = format("prg=%u ctx=%x.%x nodes=%u.%u", read->program, read->low_context,
                              read->high_context, read->low_node, read->high_node);
    if (read->flavour == Flavour::elan3) text += format(" entries=%u", read->entries);
    return text;
  }

  std::string describe_long(const Credential& credential) const override {
    std::string text(18, '_');
    const auto read = read_capability(credential);
    if (read) {
      text += format("\nprognum=%u\n", read->program);
      // The vendor's own text starts with the four key words; they stay secret.
      text += format("[hidden] Version %x Type %x \nContext %x.%x.%x Node %x.%x\n",
                     kCapabilityVersion, static_cast<unsigned>(read->type), read->low_context,
                     0xFFFFFFFFU, read->high_context, read->low_node, read->high_node);
    } else {
      text += '\n' + describe(credential) + '\n';
    }
    return text + '\n' + std::string(18, '-') + '\n';
  }

 private:
  Flavour flavour_;
};

}  // namespace

Result<std::unique_ptr<CredentialCodec>> make_codec(const BackendContext& context) {
  return flavour_of(context.config).transform([](Flavour flavour) {
    return std::unique_ptr<CredentialCodec>(std::make_unique<ElanCodec>(flavour));
  });
}

}  // namespace hal::elan
