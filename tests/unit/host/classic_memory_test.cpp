// SPDX-License-Identifier: BSD-3-Clause
#include <cstdlib>
#include <cstring>
#include <gmock/gmock.h>

#include "host/classic_records.h"

namespace hal::host {
namespace {

using ::testing::ElementsAre;
using ::testing::StrEq;

/// Word `index` of 32 bits in front of a block: -2 is the magic, -1 the size.
std::int32_t header_word(const void* block, int index) {
  std::int32_t value = 0;
  std::memcpy(&value, static_cast<const char*>(block) + index * 4, sizeof value);
  return value;
}

/// What a plugin does to hand memory to the daemon: malloc with the header filled in.
char* block_of_a_plugin(std::string_view text) {
  auto* const raw = static_cast<char*>(std::malloc(8 + text.size() + 1));
  const std::int32_t header[2] = {0x42, static_cast<std::int32_t>(text.size() + 1)};
  std::memcpy(raw, header, sizeof header);
  std::memcpy(raw + 8, text.data(), text.size());
  raw[8 + text.size()] = '\0';
  return raw + 8;
}

TEST(HostAllocTest, PutsMagicAndSizeInFront) {
  const HostBlock<void> block(host_alloc(100));

  EXPECT_EQ(header_word(block.get(), -2), 0x42);
  EXPECT_EQ(header_word(block.get(), -1), 100);
  EXPECT_TRUE(has_host_header(block.get()));
  EXPECT_EQ(host_block_size(block.get()), 100U);
}

TEST(HostAllocTest, GrowingKeepsTheContentAndZeroesTheRest) {
  auto* block = static_cast<char*>(host_copy("abc"));

  block = static_cast<char*>(host_realloc(block, 64));

  EXPECT_STREQ(block, "abc");
  EXPECT_EQ(host_block_size(block), 64U);
  EXPECT_EQ(block[63], '\0');
  host_free(block);
}

TEST(HostAllocTest, FreesABlockThatAPluginMade) {
  char* const block = block_of_a_plugin("from a plugin");

  EXPECT_TRUE(has_host_header(block));
  host_free(block);
}

TEST(HostAllocDeathTest, MemoryWithoutAHeaderEndsTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::array<std::int64_t, 4> foreign{};

  EXPECT_DEATH(host_free(&foreign[2]), "without the daemon's header");
}

TEST(ClassicBufTest, HasTheLayoutOfTheDocumentsTime) {
  ClassicBuf buffer(64);
  const auto* const record = static_cast<const char*>(buffer.handle());
  std::uint32_t words[6];
  std::memcpy(words, record, sizeof words);
  const char* head = nullptr;
  std::memcpy(&head, record + 8, sizeof head);

  EXPECT_EQ(words[0], 0x42554545U);
  EXPECT_EQ(words[4], 64U);
  EXPECT_EQ(words[5], 0U);
  EXPECT_TRUE(has_host_header(head));
  EXPECT_EQ(host_block_size(record), 24U);
  EXPECT_TRUE(buffer.intact());
}

TEST(ClassicBufTest, TakesWhatAPluginPackedAndGrew) {
  ClassicBuf buffer(2);
  auto* const record = static_cast<char*>(buffer.handle());
  char* head = nullptr;
  std::memcpy(&head, record + 8, sizeof head);
  head = static_cast<char*>(host_realloc(head, 100));
  std::memcpy(head, "packed", 6);
  const std::uint32_t size = 100;
  const std::uint32_t processed = 6;
  std::memcpy(record + 8, &head, sizeof head);
  std::memcpy(record + 16, &size, sizeof size);
  std::memcpy(record + 20, &processed, sizeof processed);

  ASSERT_TRUE(buffer.intact());
  EXPECT_EQ(buffer.capacity(), 100U);
  const auto bytes = buffer.processed();
  EXPECT_EQ(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()), "packed");
}

TEST(ClassicBufTest, SeesWhatAPluginBroke) {
  ClassicBuf buffer(4);
  auto* const record = static_cast<char*>(buffer.handle());
  const std::uint32_t too_much = 5;

  std::memcpy(record + 20, &too_much, sizeof too_much);
  EXPECT_FALSE(buffer.intact());
  EXPECT_EQ(buffer.processed().size(), 4U) << "never more than there is";

  buffer.rewind();
  EXPECT_TRUE(buffer.intact());
  const std::uint32_t larger_than_its_block = 400;
  std::memcpy(record + 16, &larger_than_its_block, sizeof larger_than_its_block);
  EXPECT_FALSE(buffer.intact());
}

TEST(ClassicBufTest, AReceivedMessageStartsAtItsFirstByte) {
  const std::array<std::byte, 3> content = {std::byte{1}, std::byte{2}, std::byte{3}};
  ClassicBuf buffer(content);

  EXPECT_EQ(buffer.capacity(), 3U);
  EXPECT_EQ(buffer.processed_size(), 0U);
  EXPECT_TRUE(ClassicBuf(std::span<const std::byte>()).intact());
}

TEST(ClassicBufTest, CanBeMoved) {
  ClassicBuf first(8);
  void* const handle = first.handle();

  ClassicBuf second(std::move(first));
  ClassicBuf third(1);
  third = std::move(second);

  EXPECT_EQ(third.handle(), handle);
}

TEST(ClassicEnvTest, ArrayAndStringsCarryHeaders) {
  ClassicEnv env(std::vector<std::string>{"A=1", "B=2"});

  EXPECT_TRUE(has_host_header(*env.handle()));
  EXPECT_EQ(host_block_size(*env.handle()), 3 * sizeof(char*));
  EXPECT_TRUE(has_host_header(env.array()[0]));
  EXPECT_THAT(env.entries(), ElementsAre("A=1", "B=2"));
}

TEST(ClassicEnvTest, SetAddsAndReplaces) {
  ClassicEnv env;
  for (int i = 0; i < 100; ++i) env.set("V" + std::to_string(i), std::to_string(i));

  env.set("V7", "changed");

  EXPECT_EQ(env.entries().size(), 100U);
  EXPECT_THAT(env.get("V7"), StrEq("changed"));
  EXPECT_THAT(env.get("V99"), StrEq("99"));
  EXPECT_EQ(env.get("V"), nullptr);
  EXPECT_EQ(env.get("W"), nullptr);
}

TEST(ClassicEnvTest, WorksOnWithAnArrayThatAPluginReplaced) {
  ClassicEnv env(std::vector<std::string>{"A=1"});
  char** array = *env.handle();
  array = static_cast<char**>(host_realloc(array, 3 * sizeof(char*)));
  array[1] = block_of_a_plugin("RMS_RANK=3");
  array[2] = nullptr;
  *env.handle() = array;

  env.set("RMS_RANK", "4");
  env.set("B", "2");

  EXPECT_THAT(env.entries(), ElementsAre("A=1", "RMS_RANK=4", "B=2"));
}

}  // namespace
}  // namespace hal::host
