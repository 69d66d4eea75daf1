// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/classic/memory.h"

#include <cstring>
#include <gtest/gtest.h>

#include "plugins/classic/buffer.h"
#include "plugins/classic/environment.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::classic {
namespace {

using test::free_host_block;
using test::host_block;
using test::TestBuffer;
using test::TestEnvironment;

class BothHeaders : public testing::TestWithParam<std::size_t> {
 protected:
  [[nodiscard]] static HeaderForm form() {
    return GetParam() == 8 ? HeaderForm::two_ints : HeaderForm::two_words;
  }
};

TEST_P(BothHeaders, RecognisesTheHostsBlocks) {
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{66}, std::size_t{464}}) {
    void* block = host_block(size, GetParam());

    const auto found = find_block(block);

    ASSERT_TRUE(found);
    EXPECT_EQ(found->form, form());
    EXPECT_EQ(found->size, size);
    free_host_block(block, GetParam());
  }
}

TEST_P(BothHeaders, MakesBlocksThatTheHostCanFree) {
  auto* block = static_cast<unsigned char*>(allocate_block(form(), 100));

  ASSERT_NE(block, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 8, 0U);
  EXPECT_EQ(test::host_block_size(block, GetParam()), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(block[i], 0);
  free_host_block(block, GetParam());
}

TEST_P(BothHeaders, ResizeKeepsContentAndClearsTheRest) {
  void* block = host_block(4, GetParam());
  std::memcpy(block, "abcd", 4);

  auto* grown = static_cast<char*>(resize_block(block, *find_block(block), 4096));

  ASSERT_NE(grown, nullptr);
  EXPECT_EQ(test::host_block_size(grown, GetParam()), 4096U);
  EXPECT_EQ(std::memcmp(grown, "abcd", 4), 0);
  for (int i = 4; i < 4096; ++i) ASSERT_EQ(grown[i], 0);
  free_block(grown);
}

INSTANTIATE_TEST_SUITE_P(Memory, BothHeaders, testing::Values(8U, 16U));

TEST(HostBlocks, NullAndForeignMemoryAreNotBlocks) {
  alignas(16) std::array<char, 64> foreign{};

  EXPECT_FALSE(find_block(nullptr));
  EXPECT_FALSE(find_block(foreign.data() + 32));
  EXPECT_FALSE(find_block(foreign.data() + 33));
  free_block(nullptr);
  free_block(foreign.data() + 32);
}

TEST(HostBlocks, RefusesSizesThatNoHostMeans) {
  EXPECT_EQ(allocate_block(HeaderForm::two_ints, kMaxBlock + 1), nullptr);
  void* block = host_block(8);
  EXPECT_EQ(resize_block(block, *find_block(block), kMaxBlock + 1), nullptr);
  free_host_block(block);
}

TEST(HostBuffers, Point4_AppendGrowsFromAnyStartSize) {
  std::vector<std::byte> bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  for (std::uint32_t size = 0; size <= 310; ++size) {
    TestBuffer buffer(size);

    ASSERT_TRUE(append(buffer.get(), std::span(bytes).first(100)));
    ASSERT_TRUE(append(buffer.get(), std::span(bytes).subspan(100)));

    ASSERT_EQ(buffer.content(), bytes) << "start size " << size;
    ASSERT_EQ(test::host_block_size(buffer.get()->head), buffer.get()->size);
    buffer.rewind();
    const auto rest = unread(buffer.get());
    ASSERT_TRUE(rest);
    ASSERT_GE(rest->size(), bytes.size());
    consume(buffer.get(), 300);
    ASSERT_EQ(buffer.processed(), 300U);
  }
}

TEST(HostBuffers, RefusesDamage) {
  TestBuffer buffer(16);
  const std::array<std::byte, 4> bytes{};

  EXPECT_EQ(append(nullptr, bytes).error().code, EINVAL);
  EXPECT_EQ(unread(nullptr).error().code, EINVAL);
  buffer.get()->magic ^= 1;
  EXPECT_EQ(append(buffer.get(), bytes).error().code, EINVAL);
  buffer.get()->magic ^= 1;
  buffer.get()->processed = 17;
  EXPECT_EQ(unread(buffer.get()).error().code, EINVAL);
  buffer.get()->processed = 0;
  char* head = std::exchange(buffer.get()->head, nullptr);
  EXPECT_EQ(append(buffer.get(), bytes).error().code, EINVAL);
  buffer.get()->head = head;
}

TEST(HostBuffers, MemoryOfUnknownMakingIsNotGrown) {
  alignas(16) std::array<char, 64> foreign{};
  HostBuffer buffer{kBufferMagic, foreign.data() + 32, 4, 0};
  const std::array<std::byte, 5> bytes{};

  EXPECT_EQ(append(&buffer, bytes).error().code, ENOBUFS);
  EXPECT_EQ(buffer.processed, 0U);
  EXPECT_TRUE(append(&buffer, std::span(bytes).first(4)));
}

TEST(Environment, Check28_GrowsByMoreThanItsSizeAndKeepsOldEntries) {
  const std::vector<std::string> old{"HOME=/root", "PATH=/bin"};
  TestEnvironment environment(old);
  EnvUpdates updates;
  for (int i = 0; i < 100; ++i) updates.emplace_back("NEW_" + std::to_string(i), std::to_string(i));

  ASSERT_TRUE(update_environment(environment.get(), updates));

  const auto now = environment.variables();
  ASSERT_EQ(now.size(), 102U);
  EXPECT_EQ(now[0], old[0]);
  EXPECT_EQ(now[1], old[1]);
  for (std::size_t i = 0; i < 100; ++i) {
    EXPECT_EQ(now[i + 2], "NEW_" + std::to_string(i) + "=" + std::to_string(i));
  }
}

TEST(Environment, Check28_ReplacesInPlaceAndNeverDoubles) {
  TestEnvironment environment({"A=1", "RANK=7", "RANKS=8", "RANK=9", "Z=2"});

  ASSERT_TRUE(update_environment(environment.get(), {{"RANK", "0"}, {"EMPTY", ""}}));
  ASSERT_TRUE(update_environment(environment.get(), {{"EMPTY", "full"}}));

  EXPECT_EQ(environment.variables(),
            (std::vector<std::string>{"A=1", "RANK=0", "RANKS=8", "Z=2", "EMPTY=full"}));
}

TEST(Environment, StringsCarryTheHostsHeader) {
  TestEnvironment environment({});

  ASSERT_TRUE(update_environment(environment.get(), {{"N", "value"}}));

  EXPECT_EQ(test::host_block_size((*environment.get())[0]), sizeof("N=value"));
}

TEST(Environment, RefusesNoPlaceAndBadNames) {
  TestEnvironment environment({"A=1"});

  EXPECT_TRUE(update_environment(nullptr, {}));
  EXPECT_EQ(update_environment(nullptr, {{"A", "2"}}).error().code, EINVAL);
  EXPECT_EQ(update_environment(environment.get(), {{"A=B", "2"}}).error().code, EINVAL);
  EXPECT_EQ(update_environment(environment.get(), {{"", "2"}}).error().code, EINVAL);
  EXPECT_EQ(environment.variables(), std::vector<std::string>{"A=1"});
}

TEST(Environment, NullArrayAndForeignArrayBecomeHostBlocks) {
  char first[] = "FIRST=1";
  char* foreign[4] = {nullptr, nullptr, first, nullptr};
  char** from_null = nullptr;
  char** from_foreign = foreign + 2;

  ASSERT_TRUE(update_environment(&from_null, {{"N", "1"}}));
  ASSERT_TRUE(update_environment(&from_foreign, {{"N", "1"}}));

  EXPECT_STREQ(from_null[0], "N=1");
  EXPECT_STREQ(from_foreign[0], first);
  EXPECT_STREQ(from_foreign[1], "N=1");
  EXPECT_EQ(from_foreign[2], nullptr);
  for (char** array : {from_null, from_foreign}) {
    for (char** entry = array; *entry != nullptr; ++entry) free_block(*entry);
    free_block(array);
  }
}

}  // namespace
}  // namespace hal::classic
