// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <sys/stat.h>
#include <unistd.h>

#include "backends/elan/saved_state.h"
#include "hal/bytes.h"
#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

using Recovered = std::vector<const Credential*>;

class ElanStateTest : public ElanTest {
 protected:
  ElanStateTest() : state_path_(directory_.file("qsw_state")) {}

  Result<> load(InterconnectController& controller, const Recovered& recovered = {}) {
    return controller.load(directory_.path(), recovered);
  }

  void write_state(std::span<const std::byte> bytes) {
    write_text(state_path_, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    ::chmod(state_path_.c_str(), 0600);
  }

  /// Whatever is in the file, a controller starts empty and goes on working.
  void expect_clean_start(std::string_view what) {
    auto controller = this->controller();
    const auto loaded = load(*controller);
    ASSERT_TRUE(loaded) << what << ": " << loaded.error().detail;
    EXPECT_EQ(fields(build(*controller, "q0", 1023)).low_context, kFirstContext) << what;
  }

  void expect_strict_refusal(std::string_view what) {
    options_["strict_state"] = "yes";
    auto controller = this->controller();
    const auto live = build(*controller, "q0", 1023);
    const auto loaded = load(*controller);
    options_.erase("strict_state");
    ASSERT_FALSE(loaded) << what;
    EXPECT_EQ(loaded.error().kind, Errc::corrupt) << what;
    EXPECT_EQ(loaded.error().code, kBadMagicLibState) << what;
    EXPECT_EQ(build(*controller, "q0", 1).error().code, EAGAIN) << "the state changed";
  }

  std::string state_path_;
};

TEST_F(ElanStateTest, Check11_RestartKeepsLiveStepsAndGoesOnCounting) {
  auto before = controller();
  ASSERT_TRUE(load(*before));
  const auto running = build(*before, "q[0-3]", 400);
  const auto ended = build(*before, "q0", 10);
  ASSERT_TRUE(before->release(*ended));
  const Capability last = fields(ended);

  auto after = controller();
  ASSERT_TRUE(load(*after, {&*running}));

  const Capability next = fields(build(*after, "q0", 923));
  EXPECT_EQ(next.program, last.program == kMaxProgram ? 1 : last.program + 1);
  EXPECT_EQ(next.low_context, kFirstContext + 100) << "contexts of the running step are kept";
  EXPECT_EQ(build(*after, "q0", 1).error().code, EAGAIN);
}

TEST_F(ElanStateTest, Check11_GrantsWithoutAStepAreFreedAndStepsWithoutAGrantAdded) {
  auto before = controller();
  ASSERT_TRUE(load(*before));
  const auto orphan = build(*before, "q0", 1000);
  ASSERT_TRUE(orphan);
  const auto unrecorded = build(*this->controller(), "q[1,3]", 2046);

  auto after = controller();
  ASSERT_TRUE(load(*after, {&*unrecorded, nullptr}));

  EXPECT_TRUE(build(*after, "q0", 1023));
  EXPECT_EQ(build(*after, "q1", 1).error().code, EAGAIN);
  EXPECT_EQ(build(*after, "q3", 1).error().code, EAGAIN);
  EXPECT_TRUE(build(*after, "q2", 1023)) << "between the nodes of the recovered step";
  EXPECT_TRUE(after->release(*unrecorded));
  EXPECT_TRUE(build(*after, "q[1,3]", 2046));
}

TEST_F(ElanStateTest, Check11_LoadTwiceAndAfterClear) {
  auto controller = this->controller();
  ASSERT_TRUE(load(*controller));
  const auto step = build(*controller, "q0", 1023);

  ASSERT_TRUE(load(*controller, {&*step}));
  ASSERT_TRUE(load(*controller, {&*step}));
  EXPECT_EQ(build(*controller, "q0", 1).error().code, EAGAIN);

  ASSERT_TRUE(controller->clear());
  ASSERT_TRUE(load(*controller));
  EXPECT_TRUE(build(*controller, "q0", 1023));
}

TEST_F(ElanStateTest, Check11_NoDirectoryStartsEmptyAndSavesNothing) {
  auto controller = this->controller();
  ASSERT_TRUE(load(*controller));
  ASSERT_TRUE(build(*controller, "q0", 1023));
  ASSERT_EQ(::unlink(state_path_.c_str()), 0);

  ASSERT_TRUE(controller->load(std::nullopt, {}));

  ASSERT_TRUE(build(*controller, "q0", 1023));
  EXPECT_NE(::access(state_path_.c_str(), F_OK), 0);
}

TEST_F(ElanStateTest, Check11_SaveElsewhereKeepsMemory) {
  const ScratchDirectory other;
  auto controller = this->controller();
  const auto step = build(*controller, "q0", 1023);

  ASSERT_TRUE(controller->save(other.path()));

  EXPECT_EQ(build(*controller, "q0", 1).error().code, EAGAIN);
  auto second = this->controller();
  const Recovered running{&*step};
  ASSERT_TRUE(second->load(other.path(), running));
  EXPECT_EQ(build(*second, "q0", 1).error().code, EAGAIN);
}

TEST_F(ElanStateTest, Check12_MissingFileIsACleanStart) { expect_clean_start("missing"); }

TEST_F(ElanStateTest, Check12_EveryTruncationIsDamage) {
  auto controller = this->controller();
  ASSERT_TRUE(load(*controller));
  ASSERT_TRUE(build(*controller, "q[0,2]", 3));
  ASSERT_TRUE(build(*controller, "q1", 3));
  const std::string whole = read_text(state_path_);
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = as_bytes(std::string_view(whole).substr(0, size));
    const auto decoded = decode_state(part);
    ASSERT_FALSE(decoded) << size;
    ASSERT_EQ(decoded.error().kind, Errc::corrupt) << size;
  }
  for (const std::size_t size : {std::size_t{0}, std::size_t{12}, whole.size() - 1}) {
    write_state(as_bytes(std::string_view(whole).substr(0, size)));
    expect_strict_refusal("truncated");
    expect_clean_start("truncated");
    EXPECT_EQ(read_text(state_path_ + ".bad").size(), size) << "kept aside";
  }
}

TEST_F(ElanStateTest, Check12_EveryFlippedByteIsNoticed) {
  RangeAllocator contexts(kContextCount);
  ASSERT_TRUE(contexts.reserve(7, {NodeSet({{4, 4}, {6, 7}}), 0, 2}));
  const auto whole = encode_state({std::move(contexts), 8});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    auto flipped = whole;
    flipped[at] ^= std::byte{0x01};
    EXPECT_FALSE(decode_state(flipped)) << at;
  }
  auto longer = whole;
  longer.push_back(std::byte{0});
  EXPECT_FALSE(decode_state(longer)) << "trailing junk";
}

TEST_F(ElanStateTest, Check12_AnotherVersionIsKeptAndIgnored) {
  write_state(as_bytes(std::string_view("\0\7VER999\0\xF0\x0F\xF0\x0F", 13)));
  options_["strict_state"] = "yes";

  expect_clean_start("another version");

  EXPECT_EQ(read_text(state_path_ + ".bad").substr(2, 6), "VER999");
  EXPECT_NE(host_.log_text().find("VER999 is not supported"), std::string::npos);
}

std::vector<std::byte> ver001(unsigned prefix, std::uint32_t magic, std::uint32_t low) {
  ByteWriter writer;
  if (prefix == 2) writer.u16(7);
  if (prefix == 4) writer.u32(7);
  writer.append(as_bytes(std::string_view("VER001\0", 7)));
  writer.u32(magic);
  writer.u32(101);
  writer.u16(1);
  writer.u32(100);
  writer.u32(low);
  writer.u32(19);
  writer.u16(4);
  writer.u16(7);
  return std::move(writer).release();
}

TEST_F(ElanStateTest, Check12_OlderVersionsAreRead) {
  for (const unsigned prefix : {2U, 4U}) {
    const auto state = decode_state(ver001(prefix, 0xF00FF00F, 10));
    ASSERT_TRUE(state) << state.error().detail;
    EXPECT_EQ(state->next_program, 101U);
    const RangeAllocator::Grant* grant = state->contexts.find(100);
    ASSERT_NE(grant, nullptr);
    EXPECT_EQ(grant->first, 10U);
    EXPECT_EQ(grant->count, 10U);
    EXPECT_EQ(grant->nodes, NodeSet({{4, 7}}));
  }
  ByteWriter v0;
  for (const std::uint32_t word : {0xF00FF00FU, 77U, 0x405U}) v0.u32(word);
  const auto state = decode_state(v0.view());
  ASSERT_TRUE(state);
  EXPECT_EQ(state->next_program, 77U);
  EXPECT_EQ(state->contexts.cursor(), 5U);
}

TEST_F(ElanStateTest, Check12_DamagedOlderVersions) {
  const auto refused = [](std::vector<std::byte> bytes) {
    const auto decoded = decode_state(bytes);
    return !decoded && decoded.error().kind == Errc::corrupt;
  };
  const auto good = ver001(4, 0xF00FF00F, 10);
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_TRUE(refused({good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size)})) << size;
  }
  auto longer = good;
  longer.push_back(std::byte{1});
  EXPECT_TRUE(refused(longer));
  EXPECT_TRUE(refused(ver001(4, 0xF00FF00E, 10))) << "magic";
  EXPECT_TRUE(refused(ver001(4, 0xF00FF00F, 20))) << "low above high";
}

TEST_F(ElanStateTest, Check12_DamageIsReplacedByRunningSteps) {
  const auto running = build(*controller(), "q0", 1023);
  write_state(as_bytes("not a state file"));
  auto controller = this->controller();

  ASSERT_TRUE(load(*controller, {&*running}));

  EXPECT_EQ(build(*controller, "q0", 1).error().code, EAGAIN);
  EXPECT_NE(host_.log_text().find("no version string"), std::string::npos);
}

TEST_F(ElanStateTest, Check12_SymbolicLinkAndDirectoryAreNotFollowed) {
  write_text(directory_.file("elsewhere"), "x");
  ASSERT_EQ(::symlink(directory_.file("elsewhere").c_str(), state_path_.c_str()), 0);
  auto controller = this->controller();

  const auto loaded = load(*controller);

  EXPECT_TRUE(loaded) << loaded.error().detail;
  EXPECT_EQ(read_text(directory_.file("elsewhere")), "x");
}

TEST_F(ElanStateTest, Check12_MissingDirectoryFailsTheLoad) {
  auto controller = this->controller();
  const auto live = build(*controller, "q0", 1023);

  const auto loaded = controller->load(directory_.file("absent"), {});

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, Errc::not_found);
  EXPECT_EQ(build(*controller, "q0", 1).error().code, EAGAIN) << "the state changed";
  EXPECT_EQ(controller->save(directory_.file("absent")).error().kind, Errc::not_found);
}

// A directory in place of the temporary file stops every write, as root too.
TEST_F(ElanStateTest, Check12_FailedWriteGrantsNothingAndKeepsTheOldFile) {
  auto controller = this->controller();
  ASSERT_TRUE(load(*controller));
  const Capability first = fields(build(*controller, "q0", 1));
  const std::string old = read_text(state_path_);
  ASSERT_EQ(::mkdir((state_path_ + ".tmp").c_str(), 0700), 0);

  const auto refused = build(*controller, "q0", 1);
  const auto saved = controller->save(directory_.path());

  EXPECT_FALSE(refused);
  EXPECT_FALSE(saved);
  EXPECT_EQ(read_text(state_path_), old);
  ASSERT_EQ(::rmdir((state_path_ + ".tmp").c_str()), 0);
  const Capability second = fields(build(*controller, "q0", 1));
  EXPECT_EQ(second.low_context, first.high_context + 1) << "as if nothing had happened";
  EXPECT_EQ(second.program, first.program + 1);
}

TEST_F(ElanStateTest, EachChangeIsOnDiskBeforeTheCallReturns) {
  auto controller = this->controller();
  ASSERT_TRUE(load(*controller));
  const auto step = build(*controller, "q0", 1);
  const std::uint32_t program = fields(step).program;

  auto state = decode_state(as_bytes(read_text(state_path_)));
  EXPECT_NE(state->contexts.find(program), nullptr);

  ASSERT_TRUE(controller->release(*step));
  state = decode_state(as_bytes(read_text(state_path_)));
  EXPECT_EQ(state->contexts.find(program), nullptr);
}

}  // namespace
}  // namespace hal::elan::test
