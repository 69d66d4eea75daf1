// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/wire_words.h"
#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

using Place = std::pair<std::uint32_t, std::uint32_t>;

constexpr std::array<std::byte, kKeySize> key_of_the_sheet() {
  std::array<std::byte, kKeySize> key{};
  for (std::size_t i = 0; i < key.size(); ++i) key[i] = std::byte(0x11 * (i / 4 + 1));
  return key;
}

/// The worked example of the Elan sheet, 3.5, with program 7.
Credential example(TaskDistribution distribution, Flavour flavour = Flavour::elanctrl) {
  const auto layout = StepLayout::from_counts(*NodeList::parse("q[4,6-7]"), 5, distribution);
  const std::array<NodeRun, 2> runs{{{4, 1}, {6, 2}}};
  return build_capability({flavour, 7, 0, *layout, runs}, key_of_the_sheet());
}

std::vector<std::uint32_t> words(std::span<const std::byte> wire) {
  std::vector<std::uint32_t> result;
  for (std::size_t at = 0; at + 4 <= wire.size(); at += 4) {
    result.push_back(load_word(wire.data() + at));
  }
  return result;
}

/// Places in the order in which the vendor numbers processes: Elan sheet 3.4.
std::vector<Place> ranks(const Credential& credential) {
  const Capability read = *read_capability(credential);
  std::vector<Place> places;
  const std::uint32_t outer = read.cyclic() ? read.contexts() : read.span();
  const std::uint32_t inner = read.cyclic() ? read.span() : read.contexts();
  for (std::uint32_t i = 0; i < outer; ++i) {
    for (std::uint32_t j = 0; j < inner; ++j) {
      const Place place = read.cyclic() ? Place{j, i} : Place{i, j};
      if (!has_slot(credential.wire(), read, place.first, place.second)) continue;
      places.emplace_back(read.low_node + place.first, read.low_context + place.second);
    }
  }
  return places;
}

class ElanCapabilityTest : public ElanTest {
 protected:
  /// What decode says of the example with one 32-bit word replaced.
  Result<Credential> decode_with(std::size_t offset, std::uint32_t value) {
    auto wire = bytes_of(example(TaskDistribution::block).wire());
    store_word(wire.data() + offset, value);
    ByteReader reader(wire);
    return codec()->decode(reader);
  }

  void expect_damaged(std::size_t offset, std::uint32_t value) {
    const auto decoded = decode_with(offset, value);
    ASSERT_FALSE(decoded) << "word " << offset << " = " << value << " was accepted";
    EXPECT_EQ(decoded.error().kind, Errc::corrupt);
    EXPECT_EQ(decoded.error().code, kBadMagicJobInfo);
  }
};

TEST_F(ElanCapabilityTest, Check01_WorkedExampleBlock) {
  const Credential credential = example(TaskDistribution::block);
  const Capability read = *read_capability(credential);

  EXPECT_EQ(read.type, 0xA001);
  EXPECT_EQ(read.low_context, 0x400U);
  EXPECT_EQ(read.high_context, 0x401U);
  EXPECT_EQ(read.low_node, 4U);
  EXPECT_EQ(read.high_node, 7U);
  EXPECT_EQ(words(credential.wire())[14], 0x73U);
  EXPECT_EQ(ranks(credential),
            (std::vector<Place>{{4, 0x400}, {4, 0x401}, {6, 0x400}, {6, 0x401}, {7, 0x400}}));
}

TEST_F(ElanCapabilityTest, Check01_WorkedExampleCyclic) {
  const Credential credential = example(TaskDistribution::cyclic);

  EXPECT_EQ(read_capability(credential)->type, 0xA002);
  EXPECT_EQ(words(credential.wire())[14], 0x5DU);
  EXPECT_EQ(ranks(credential),
            (std::vector<Place>{{4, 0x400}, {6, 0x400}, {7, 0x400}, {4, 0x401}, {6, 0x401}}));
}

TEST_F(ElanCapabilityTest, Check01_TwoByTwo) {
  auto controller = this->controller();

  const auto block = build(*controller, "q[4,6]", 4);
  const auto cyclic = build(*controller, "q[4,6]", 4, TaskDistribution::cyclic);

  EXPECT_EQ(words(block->wire())[14], 0x33U);
  EXPECT_EQ(words(cyclic->wire())[14], 0x2DU);
}

// Ranks of every layout agree with the resource manager's, real counts included.
TEST_F(ElanCapabilityTest, Check01_RanksAgreeWithLayouts) {
  auto controller = this->controller();
  for (const auto distribution : {TaskDistribution::block, TaskDistribution::cyclic}) {
    for (const std::vector<std::uint32_t>& counts : std::vector<std::vector<std::uint32_t>>{
             {3, 1, 2, 5}, {0, 2, 0, 1}, {2, 2, 2, 2}, {40, 33, 1, 64}, {1, 1, 0, 0}}) {
      const auto layout =
          StepLayout::from_tasks(*NodeList::parse("q[2-3,31,33]"), counts, distribution);
      const auto credential = controller->build_credential(*layout);
      const Capability read = fields(credential);
      const auto places = ranks(*credential);
      ASSERT_EQ(places.size(), layout->task_count());
      const std::array<std::uint32_t, 4> ids{2, 3, 31, 33};
      for (std::uint32_t rank = 0; rank < places.size(); ++rank) {
        const TaskPlace place = layout->place_of(rank);
        EXPECT_EQ(places[rank], (Place{ids[place.node_index], read.low_context + place.local_id}));
      }
      ASSERT_TRUE(controller->release(*credential));
    }
  }
}

TEST_F(ElanCapabilityTest, Check02_WireBytesAreTheSheets) {
  const Credential credential = example(TaskDistribution::block);
  std::vector<std::uint32_t> expected{0xF00FF00E, 0x00000007, 0x11111111, 0x22222222, 0x33333333,
                                      0x44444444, 0xA001FFFF, 0x00010002, 0x00000400, 0x00000401,
                                      0xFFFFFFFF, 0x00000004, 0x00000007, 0x00000001, 0x00000073};
  expected.resize(526);

  EXPECT_EQ(credential.wire().size(), 2104U);
  EXPECT_EQ(words(codec()->encode(credential)), expected);
}

TEST_F(ElanCapabilityTest, Check02_DecodeOfEncodeIsEqualAndConsumesItsBytesOnly) {
  const Credential credential = example(TaskDistribution::cyclic);
  auto message = bytes_of(codec()->encode(credential));
  message.resize(message.size() + 3);
  ByteReader reader(message);

  const auto decoded = codec()->decode(reader);

  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, credential);
  EXPECT_EQ(reader.remaining(), 3U);
}

TEST_F(ElanCapabilityTest, Check02_OldFlavour) {
  options_["flavour"] = "elan3";
  const Credential credential = example(TaskDistribution::block, Flavour::elan3);
  ByteReader reader(codec()->encode(credential));

  EXPECT_EQ(credential.wire().size(), 124U);
  EXPECT_EQ(words(credential.wire())[13], 5U) << "number of processes";
  EXPECT_EQ(words(credential.wire())[15], 0x73U);
  EXPECT_EQ(codec()->decode(reader), credential);
  EXPECT_EQ(codec()->describe(credential), "prg=7 ctx=400.401 nodes=4.7 entries=5");
}

TEST_F(ElanCapabilityTest, Check02_UnbuiltCredentialTravels) {
  for (const char* flavour : {"elanctrl", "elan3"}) {
    options_["flavour"] = flavour;
    const Credential unbuilt;
    ByteReader reader(codec()->encode(unbuilt));

    const auto decoded = codec()->decode(reader);

    ASSERT_TRUE(decoded);
    EXPECT_FALSE(decoded->built());
    EXPECT_EQ(reader.remaining(), 0U);
  }
}

TEST_F(ElanCapabilityTest, Check03_EveryPrefixIsRefused) {
  const Credential credential = example(TaskDistribution::block);
  const auto codec = this->codec();
  for (std::size_t size = 0; size < 2104; ++size) {
    ByteReader reader(credential.wire().first(size));
    const auto decoded = codec->decode(reader);
    ASSERT_FALSE(decoded) << size;
    ASSERT_EQ(decoded.error().code, kBadMagicJobInfo) << size;
  }
}

TEST_F(ElanCapabilityTest, Check04_WrongFieldsAreRefused) {
  ASSERT_TRUE(decode_with(4, 8)) << "another program number is fine";
  expect_damaged(0, 0xF00FF00F);
  expect_damaged(4, 0);            // never built, but not empty
  expect_damaged(4, 0x80000000);   // negative program
  expect_damaged(24, 0xA003FFFF);  // type KERNEL
  expect_damaged(24, 0xA000FFFF);
  expect_damaged(24, 0xB001FFFF);  // hardware test
  expect_damaged(24, 0xE001FFFF);  // no bitmap
  expect_damaged(28, 0x00010001);
  expect_damaged(32, 0x402);  // low above high
  expect_damaged(32, 0x3FF);  // not an RMS context
  expect_damaged(36, 0x7FF);  // refused by old drivers
  expect_damaged(36, 0xFFFFFFFF);
  expect_damaged(40, 0x400);  // a process' own context
  expect_damaged(44, 8);      // low above high
  expect_damaged(48, 16384);
  expect_damaged(48, 0xFFFFFFFF);
  expect_damaged(52, 0);           // no rail
  expect_damaged(52, 0x80000000);  // rail 31
}

TEST_F(ElanCapabilityTest, Check04_RangesBeyondTheBitmapAreRefused) {
  expect_damaged(48, 4 + 8192);      // span 8193 x 2 contexts
  expect_damaged(56, 0x00000173);    // bit 8 of 4 x 2 slots
  expect_damaged(60, 0x80000000);    // last bit of the next word
  expect_damaged(2100, 0x00000001);  // last word
  EXPECT_TRUE(decode_with(56, 0xF3)) << "all slots inside may be used";
  EXPECT_TRUE(decode_with(48, 4 + 8191)) << "8192 x 2 slots are just enough";
}

TEST_F(ElanCapabilityTest, Check04_OldFlavourChecksTheNumberOfProcesses) {
  options_["flavour"] = "elan3";
  auto wire = bytes_of(example(TaskDistribution::block, Flavour::elan3).wire());
  store_word(wire.data() + 52, 4);
  ByteReader reader(wire);

  const auto decoded = codec()->decode(reader);

  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().code, kBadMagicJobInfo);
}

TEST_F(ElanCapabilityTest, Check13_TextHasNoKey) {
  const Credential credential = example(TaskDistribution::block);
  const std::string line = codec()->describe(credential);
  const std::string lines = codec()->describe_long(credential);

  EXPECT_EQ(line, "prg=7 ctx=400.401 nodes=4.7");
  EXPECT_EQ(lines,
            "__________________\nprognum=7\n[hidden] Version 10002 Type a001 \n"
            "Context 400.ffffffff.401 Node 4.7\n\n------------------\n");
  EXPECT_EQ(codec()->describe(Credential()), "not built");
}

TEST_F(ElanCapabilityTest, Check22_ErrorTexts) {
  std::vector<std::string> texts;
  for (int code = kNoSlurm; code <= kInvalidProgramSignal; ++code) {
    ASSERT_NE(describe_error(code), nullptr) << code;
    for (const std::string& other : texts) EXPECT_NE(describe_error(code), other);
    texts.emplace_back(describe_error(code));
  }

  for (const int code : {-1, 0, EINVAL, kInterconnectFailure, 2999, 3018, 3099}) {
    EXPECT_EQ(describe_error(code), nullptr) << code;
  }
}

}  // namespace
}  // namespace hal::elan::test
