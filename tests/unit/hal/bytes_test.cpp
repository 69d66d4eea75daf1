// SPDX-License-Identifier: BSD-3-Clause
#include "hal/bytes.h"

#include <array>
#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <rapidcheck.h>
#include <vector>

namespace hal {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<int> values) {
  std::vector<std::byte> bytes;
  for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// The definition, one bit at a time.
std::uint32_t slow_crc32c(std::span<const std::byte> bytes) {
  std::uint32_t crc = 0xffffffffU;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return crc ^ 0xffffffffU;
}

TEST(ByteWriter, IsBigEndian) {
  ByteWriter writer;
  writer.u8(0x01);
  writer.u16(0x0203);
  writer.u32(0x04050607);
  writer.u64(0x08090a0b0c0d0e0fULL);
  writer.i32(-2);
  writer.append(as_bytes("z"));

  EXPECT_EQ(
      std::move(writer).release(),
      bytes_of({1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 0xff, 0xff, 0xff, 0xfe, 'z'}));
}

TEST(ByteReader, ReadsWhatTheWriterWrote) {
  ByteWriter writer;
  writer.u8(0xab);
  writer.u16(0xfedc);
  writer.u32(std::numeric_limits<std::uint32_t>::max());
  writer.u64(std::numeric_limits<std::uint64_t>::max() - 1);
  writer.i32(std::numeric_limits<std::int32_t>::min());

  ByteReader reader(writer.view());

  EXPECT_EQ(reader.u8(), 0xab);
  EXPECT_EQ(reader.u16(), 0xfedc);
  EXPECT_EQ(reader.u32(), std::numeric_limits<std::uint32_t>::max());
  EXPECT_EQ(reader.u64(), std::numeric_limits<std::uint64_t>::max() - 1);
  EXPECT_EQ(reader.i32(), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(reader.remaining(), 0U);
}

TEST(ByteReader, TooLittleLeavesThePosition) {
  const auto input = bytes_of({1, 2, 3});
  ByteReader reader(input);
  ASSERT_TRUE(reader.u8());

  for (int attempt = 0; attempt < 2; ++attempt) {
    const auto value = reader.u32();
    ASSERT_FALSE(value);
    EXPECT_EQ(value.error().kind, Errc::corrupt);
    EXPECT_EQ(value.error().code, EBADMSG);
    EXPECT_THAT(value.error().detail, ::testing::HasSubstr("offset 1"));
    EXPECT_EQ(reader.offset(), 1U);
  }
  EXPECT_FALSE(reader.u64());
  EXPECT_FALSE(reader.i32());
  EXPECT_EQ(reader.u16(), 0x0203);
  EXPECT_FALSE(reader.u8());
}

TEST(ByteReader, TakeIsAViewAndBounded) {
  const auto input = bytes_of({1, 2, 3});
  ByteReader reader(input);

  EXPECT_FALSE(reader.take(4));
  EXPECT_FALSE(reader.take(std::numeric_limits<std::size_t>::max()));
  const auto two = reader.take(2);
  ASSERT_TRUE(two);
  EXPECT_EQ(two->data(), input.data());
  EXPECT_FALSE(reader.take(std::numeric_limits<std::size_t>::max()));
  EXPECT_EQ(reader.take(0)->size(), 0U);
  EXPECT_EQ(reader.remaining(), 1U);
}

TEST(ByteReader, EmptyInput) {
  ByteReader reader({});

  EXPECT_FALSE(reader.u8());
  EXPECT_TRUE(reader.take(0));
}

TEST(Crc32c, PublishedCheckValues) {
  EXPECT_EQ(crc32c(as_bytes("123456789")), 0xe3069283U);
  EXPECT_EQ(crc32c({}), 0U);
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0})), 0x8a9136aaU);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::vector<std::byte>(32, std::byte{0xff})), 0x62a8ab43U);
  EXPECT_EQ(crc32c_portable(as_bytes("123456789")), 0xe3069283U);
}

TEST(Crc32c, BothWaysAgreeWithTheDefinition) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& input) {
    const auto bytes = std::as_bytes(std::span(input));
    RC_ASSERT(crc32c(bytes) == slow_crc32c(bytes));
    RC_ASSERT(crc32c_portable(bytes) == slow_crc32c(bytes));
  }));
}

TEST(Crc32c, ContinuesFromASeed) {
  EXPECT_TRUE(rc::check([](const std::vector<std::uint8_t>& input) {
    const auto bytes = std::as_bytes(std::span(input));
    const auto cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
    RC_ASSERT(crc32c(bytes.subspan(cut), crc32c(bytes.first(cut))) == crc32c(bytes));
    RC_ASSERT(crc32c_portable(bytes.subspan(cut), crc32c_portable(bytes.first(cut))) ==
              crc32c(bytes));
  }));
}

}  // namespace
}  // namespace hal
