// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <gmock/gmock.h>
#include <random>
#include <thread>

#include "tests/conformance/interconnect_suite.h"

namespace hal::conformance {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CredentialCodecTest : public InterconnectSuite {
 protected:
  void SetUp() override {
    InterconnectSuite::SetUp();
    controller_ = make_controller();
    HAL_REQUIRE_TRAIT(controller_, "no controller role builds credentials");
    ASSERT_TRUE(controller_->load(std::nullopt, {}));
  }

  [[nodiscard]] static std::vector<std::byte> bytes_of(std::span<const std::byte> view) {
    return {view.begin(), view.end()};
  }

  /// Spellings under which a text could betray bytes [offset, offset + 4) of the wire.
  [[nodiscard]] static std::vector<std::string> spellings(std::span<const std::byte> wire,
                                                          std::size_t offset) {
    std::array<unsigned, 4> b{};
    for (std::size_t i = 0; i < 4; ++i) b[i] = std::to_integer<unsigned>(wire[offset + i]);
    const unsigned big = b[0] << 24U | b[1] << 16U | b[2] << 8U | b[3];
    const unsigned little = b[3] << 24U | b[2] << 16U | b[1] << 8U | b[0];
    std::vector<std::string> texts;
    for (const unsigned word : {big, little}) {
      char text[16];
      std::snprintf(text, sizeof text, "%x", word);
      texts.emplace_back(text);
      std::snprintf(text, sizeof text, "%X", word);
      texts.emplace_back(text);
      texts.push_back(std::to_string(word));
    }
    return texts;
  }

  std::unique_ptr<InterconnectController> controller_;
};

TEST_F(CredentialCodecTest, IC20_ConsumesExactlyItsBytes) {
  const Credential credential = build(*controller_);
  std::vector<std::byte> message = bytes_of(codec_->encode(credential));
  const std::size_t size = message.size();
  message.resize(size + 7, std::byte{0xA5});
  ByteReader reader(message);

  ASSERT_TRUE(codec_->decode(reader));

  EXPECT_EQ(reader.offset(), size);
  EXPECT_EQ(reader.remaining(), 7U);
}

TEST_F(CredentialCodecTest, IC20_EveryPrefixIsCorrupt) {
  const Credential credential = build(*controller_);
  const auto wire = codec_->encode(credential);
  HAL_REQUIRE_TRAIT(!wire.empty(), "its credentials travel as no bytes");

  for (std::size_t size = 0; size < wire.size(); ++size) {
    ByteReader reader(wire.first(size));
    const auto decoded = codec_->decode(reader);
    ASSERT_FALSE(decoded) << size << " of " << wire.size() << " bytes";
    ASSERT_EQ(decoded.error().kind, Errc::corrupt);
    ASSERT_NE(decoded.error().code, 0);
  }
}

TEST_F(CredentialCodecTest, IC21_DecodeOfEncodeIsTheSame) {
  for (const std::uint32_t tasks : {1U, 2U, 5U}) {
    const Credential credential = build(*controller_, 2, tasks);

    const Credential copy = transport(credential);

    EXPECT_EQ(bytes_of(codec_->encode(copy)), bytes_of(codec_->encode(credential)));
    EXPECT_EQ(copy.built(), credential.built());
  }
}

TEST_F(CredentialCodecTest, IC21_EncodingIsReadOnlyForManyThreads) {
  const Credential credential = build(*controller_);
  const std::vector<std::byte> before = bytes_of(codec_->encode(credential));
  std::atomic<int> different{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&] {
      for (int round = 0; round < 50; ++round) {
        if (bytes_of(codec_->encode(credential)) != before) ++different;
        ByteReader reader(before);
        if (!codec_->decode(reader)) ++different;
      }
    });
  }
  for (auto& thread : threads) thread.join();

  EXPECT_EQ(different, 0);
}

TEST_F(CredentialCodecTest, IC22_DescriptionsAreTextWithoutSecrets) {
  const Credential credential = build(*controller_);
  const std::string line = codec_->describe(credential);
  const std::string page = codec_->describe_long(credential);

  EXPECT_FALSE(line.empty());
  EXPECT_THAT(line, Not(HasSubstr("\n")));
  for (const char c : page) EXPECT_TRUE(c == '\n' || (c >= 32 && c < 127));
  for (const SecretRange& range : traits().secrets) {
    const auto wire = codec_->encode(credential);
    ASSERT_LE(range.offset + range.size, wire.size());
    for (std::size_t i = 0; i + 4 <= range.size; i += 4) {
      for (const std::string& secret : spellings(wire, range.offset + i)) {
        if (secret.size() < 5) continue;  // too short to tell from a coincidence
        EXPECT_THAT(line + page, Not(HasSubstr(secret)));
      }
    }
  }
}

TEST_F(CredentialCodecTest, IC23_AnUnbuiltCredentialTravels) {
  const Credential nothing;

  const Credential copy = transport(nothing);

  EXPECT_FALSE(copy.built());
  EXPECT_EQ(bytes_of(codec_->encode(copy)), bytes_of(codec_->encode(nothing)));
  EXPECT_FALSE(codec_->describe(nothing).empty());
  EXPECT_TRUE(controller_->release(copy));
}

TEST_F(CredentialCodecTest, IC24_DamagedBytesNeverPassUnnoticed) {
  const std::vector<std::byte> wire = bytes_of(codec_->encode(build(*controller_, 2, 4)));
  HAL_REQUIRE_TRAIT(!wire.empty(), "its credentials travel as no bytes");
  std::mt19937 random(20260101);
  int refused = 0;
  for (int round = 0; round < 4000; ++round) {
    std::vector<std::byte> damaged = wire;
    for (int flips = 1 + static_cast<int>(random() % 4); flips > 0; --flips) {
      // Most fields stand at the front of a credential: half of the damage goes there.
      const std::size_t reach =
          random() % 2 == 0 ? std::min<std::size_t>(64, wire.size()) : wire.size();
      damaged[random() % reach] ^= static_cast<std::byte>(1U << random() % 8);
    }
    ByteReader reader(damaged);
    const auto decoded = codec_->decode(reader);
    if (decoded) {
      ASSERT_EQ(bytes_of(codec_->encode(*decoded)), damaged) << "accepted bytes were changed";
      ASSERT_FALSE(codec_->describe(*decoded).empty());
    } else {
      ASSERT_EQ(decoded.error().kind, Errc::corrupt);
      ++refused;
    }
  }
  EXPECT_GT(refused, 0) << "no field is checked at all";
}

TEST_F(CredentialCodecTest, IC24_DamageIsNoNameOfALiveGrant) {
  const Credential credential = build(*controller_);
  HAL_REQUIRE_TRAIT(traits().tasks_per_node != 0, "its grants are not limited");
  std::vector<std::byte> wire = bytes_of(codec_->encode(credential));
  wire.resize(wire.size() / 2);

  static_cast<void>(controller_->release(Credential(wire)));

  EXPECT_EQ(fill(*controller_), traits().tasks_per_node - 1) << "the grant is gone or doubled";
}

}  // namespace
}  // namespace hal::conformance
