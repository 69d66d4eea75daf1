// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <vector>

#include "hal/bytes.h"
#include "hal/state_file.h"

namespace hal {
namespace {

constexpr std::uint32_t kMagic = 0x48414c31U;

TEST(Seal, RoundTrip) {
  for (const char* payload : {"", "x", "a longer payload of a state file"}) {
    const auto sealed = seal(kMagic, 3, as_bytes(payload));

    const auto opened = unseal(kMagic, sealed);

    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_EQ(opened->version, 3U);
    EXPECT_TRUE(std::ranges::equal(opened->payload, as_bytes(payload)));
    EXPECT_EQ(sealed.size(), opened->payload.size() + 16);
  }
}

TEST(Seal, WireFormIsFixed) {
  const auto sealed = seal(0x01020304, 5, as_bytes("ab"));
  ByteReader reader(sealed);

  EXPECT_EQ(reader.u32(), 0x01020304U);
  EXPECT_EQ(reader.u32(), 5U);
  EXPECT_EQ(reader.u32(), 2U);
  const auto header = std::span(sealed).first(12);
  EXPECT_EQ(reader.u32(), crc32c(as_bytes("ab"), crc32c(header)));
}

TEST(Seal, EveryTruncationIsCorrupt) {
  const auto sealed = seal(kMagic, 1, as_bytes("payload"));
  for (std::size_t size = 0; size < sealed.size(); ++size) {
    const auto opened = unseal(kMagic, std::span(sealed).first(size));
    ASSERT_FALSE(opened) << size;
    EXPECT_EQ(opened.error().kind, Errc::corrupt);
    EXPECT_EQ(opened.error().code, EBADMSG);
  }
}

TEST(Seal, EverySingleBitErrorIsCorrupt) {
  const auto sealed = seal(kMagic, 1, as_bytes("payload"));
  for (std::size_t bit = 0; bit < sealed.size() * 8; ++bit) {
    auto damaged = sealed;
    damaged[bit / 8] ^= static_cast<std::byte>(1U << (bit % 8));
    EXPECT_FALSE(unseal(kMagic, damaged)) << "bit " << bit;
  }
}

TEST(Seal, TrailingBytesAndOtherMagicAreCorrupt) {
  auto sealed = seal(kMagic, 1, as_bytes("payload"));
  EXPECT_FALSE(unseal(kMagic + 1, sealed));
  sealed.push_back(std::byte{0});
  EXPECT_FALSE(unseal(kMagic, sealed));
}

}  // namespace
}  // namespace hal
