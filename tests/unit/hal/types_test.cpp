// SPDX-License-Identifier: BSD-3-Clause
#include "hal/types.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <type_traits>
#include <vector>

#include "hal/bytes.h"
#include "tests/unit/hal/freed_memory.h"

namespace hal {
namespace {

std::vector<std::byte> wire(std::string_view text) {
  const auto bytes = as_bytes(text);
  return {bytes.begin(), bytes.end()};
}

bool zeroed(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

TEST(Ids, AreDistinctTypes) {
  static_assert(!std::is_convertible_v<JobId, StepId>);
  static_assert(!std::is_convertible_v<std::uint64_t, ContainerId>);

  EXPECT_EQ(to_number(JobId{7}), 7U);
  EXPECT_EQ(to_number(kBatchStep), 0xfffffffeU);
  EXPECT_EQ(to_number(kNoContainer), 0U);
}

TEST(Credential, UnbuiltUntilItHasBytes) {
  EXPECT_FALSE(Credential().built());
  EXPECT_TRUE(Credential(wire("c")).built());
}

TEST(Credential, CopiesAreEqualAndIndependent) {
  Credential original(wire("one"));
  const Credential copy(original);
  EXPECT_EQ(copy, original);

  original = Credential(wire("another"));

  EXPECT_EQ(copy.wire().size(), 3U);
  EXPECT_FALSE(copy == original);
  original = copy;
  EXPECT_EQ(copy, original);
  const Credential& self = original;
  original = self;
  EXPECT_EQ(copy, original);
}

TEST(Credential, BytesAreWipedBeforeTheyAreFreed) {
  auto credential = std::make_optional<Credential>(wire("first secret key"));
  {
    const test::FreedMemory watch(credential->wire());
    credential = Credential(wire("second secret key"));
    EXPECT_TRUE(watch.freed_as_zeros());
  }
  {
    const test::FreedMemory watch(credential->wire());
    const Credential third(wire("third secret key"));
    *credential = third;
    EXPECT_TRUE(watch.freed_as_zeros());
  }
  const test::FreedMemory watch(credential->wire());
  credential.reset();
  EXPECT_TRUE(watch.freed_as_zeros());
}

TEST(Secret, BytesAreWipedBeforeTheyAreFreed) {
  auto secret = std::make_optional<Secret>(as_bytes("first secret key"));
  {
    const test::FreedMemory watch(secret->expose());
    *secret = Secret(as_bytes("second secret key"));
    EXPECT_TRUE(watch.freed_as_zeros());
  }
  const test::FreedMemory watch(secret->expose());
  secret.reset();
  EXPECT_TRUE(watch.freed_as_zeros());
}

TEST(Secret, MovesLeaveNothingBehind) {
  Secret first(as_bytes("key"));
  Secret second(std::move(first));
  EXPECT_TRUE(first.expose().empty());  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(second.expose().size(), 3U);

  first = std::move(second);

  EXPECT_TRUE(std::ranges::equal(first.expose(), as_bytes("key")));
  static_assert(!std::is_copy_constructible_v<Secret>);
}

TEST(Secret, RandomBytes) {
  const Secret one = Secret::random(4096);
  const Secret two = Secret::random(4096);

  EXPECT_EQ(one.expose().size(), 4096U);
  EXPECT_FALSE(std::ranges::equal(one.expose(), two.expose()));
  EXPECT_FALSE(zeroed(one.expose().last(64))) << "the tail is filled too";
  EXPECT_TRUE(Secret::random(0).expose().empty());
}

TEST(Wipe, Overwrites) {
  auto bytes = wire("key");
  wipe(bytes);
  wipe({});

  EXPECT_TRUE(zeroed(bytes));
  EXPECT_EQ(bytes.size(), 3U);
}

}  // namespace
}  // namespace hal
