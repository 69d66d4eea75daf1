// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cerrno>
#include <set>

#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

class ElanAllocationTest : public ElanTest {
 protected:
  /// The build fails so, and the next one gets the contexts that it would have got anyway.
  void expect_refused(std::string_view nodes, std::uint32_t tasks, Errc kind, int code) {
    auto controller = this->controller();
    const auto refused = build(*controller, nodes, tasks);
    ASSERT_FALSE(refused) << nodes << ' ' << tasks;
    EXPECT_EQ(refused.error().kind, kind) << refused.error().detail;
    EXPECT_EQ(refused.error().code, code) << refused.error().detail;
    EXPECT_EQ(fields(build(*controller, "q0", 1)).low_context, kFirstContext);
  }
};

TEST_F(ElanAllocationTest, Check05_BadTaskCounts) {
  expect_refused("q[0-3]", 0, Errc::invalid_argument, EINVAL);
  expect_refused("q[0-3]", static_cast<std::uint32_t>(-1), Errc::invalid_argument, EINVAL);
  expect_refused("q[0-1023]", 16385, Errc::invalid_argument, kBadTaskCount);
}

TEST_F(ElanAllocationTest, Check05_BadNodeLists) {
  expect_refused("", 1, Errc::invalid_argument, EINVAL);
  expect_refused("q[0-", 1, Errc::invalid_argument, EINVAL);
  expect_refused("q[3-1]", 1, Errc::invalid_argument, EINVAL);
  expect_refused("q0,nobody", 2, Errc::not_found, kInterconnectFailure);
  expect_refused("q[4095-4096]", 2, Errc::not_found, kInterconnectFailure);
}

TEST_F(ElanAllocationTest, Check05_MissingHostFile) {
  options_["elanhosts"] = directory_.file("absent");
  auto controller = this->controller();

  const auto refused = build(*controller, "q0", 1);

  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, kGetNodeIdByHost);
  EXPECT_NE(refused.error().detail.find("absent"), std::string::npos);
}

TEST_F(ElanAllocationTest, Check06_SpanTimesContextsIsLimited) {
  expect_refused("q[0,1000]", 40, Errc::invalid_argument, EINVAL);
}

TEST_F(ElanAllocationTest, Check06_OldFlavourHas512Slots) {
  options_["flavour"] = "elan3";
  auto controller = this->controller();

  EXPECT_TRUE(build(*controller, "q[0-255]", 512));
  EXPECT_EQ(build(*controller, "q[0-255]", 513).error().code, kBadTaskCount);
  EXPECT_EQ(build(*controller, "q[0-256]", 512).error().code, EINVAL);
}

TEST_F(ElanAllocationTest, Check07_ContextsOfOneNode) {
  auto controller = this->controller();
  const Capability all = fields(build(*controller, "q0", 1023));

  EXPECT_EQ(all.low_context, 0x400U);
  EXPECT_EQ(all.high_context, 0x7FEU);
  EXPECT_EQ(build(*controller, "q0", 1024).error().code, EINVAL);
}

TEST_F(ElanAllocationTest, Check08_FullNodeMakesRoomWhenAStepEnds) {
  auto controller = this->controller();
  std::vector<Credential> steps;
  for (int i = 0; i < 1023; ++i) {
    auto step = build(*controller, "q5", 1);
    ASSERT_TRUE(step) << i;
    steps.push_back(std::move(*step));
  }

  const auto refused = build(*controller, "q5", 1);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::exhausted);
  EXPECT_EQ(refused.error().code, EAGAIN);

  ASSERT_TRUE(controller->release(steps[500]));
  EXPECT_EQ(fields(build(*controller, "q5", 1)).low_context,
            read_capability(steps[500])->low_context);
}

TEST_F(ElanAllocationTest, Check10_ReleaseTouchesItsOwnGrantOnly) {
  auto controller = this->controller();
  const auto ended = build(*controller, "q0", 1000);
  const Credential copy = *ended;
  ASSERT_TRUE(controller->release(*ended));
  const auto live = build(*controller, "q0", 1000);
  ASSERT_TRUE(live);

  EXPECT_TRUE(controller->release(*ended)) << "again";
  EXPECT_TRUE(controller->release(copy));
  EXPECT_TRUE(controller->release(Credential())) << "never built";

  EXPECT_EQ(build(*controller, "q0", 1000).error().code, EAGAIN) << "the live step lost its grant";
}

TEST_F(ElanAllocationTest, Check13_KeysNeverRepeatAndUseAllBits) {
  auto controller = this->controller();
  std::set<std::vector<std::byte>> keys;
  std::array<std::byte, kKeySize> ones{};
  for (int i = 0; i < 100'000; ++i) {
    const auto step = build(*controller, "q0", 1);
    const auto key = step->wire().subspan(kKeyOffset, kKeySize);
    for (std::size_t n = 0; n < kKeySize; ++n) ones[n] |= key[n];
    ASSERT_TRUE(keys.insert(bytes_of(key)).second) << "key " << i << " repeats";
    ASSERT_TRUE(controller->release(*step));
  }

  EXPECT_TRUE(std::ranges::all_of(ones, [](std::byte b) { return b == std::byte{0xFF}; }));
}

TEST_F(ElanAllocationTest, Check19_FileReplacedWhileRunning) {
  auto controller = this->controller();
  ASSERT_TRUE(build(*controller, "q1", 1));
  set_hosts("eip [0-9] new[0-9]\n");

  EXPECT_EQ(fields(build(*controller, "new7", 1)).low_node, 7U) << "asked for at once";
  EXPECT_EQ(build(*controller, "q1", 1).error().code, kInterconnectFailure);

  set_hosts("eip [0-9] broken[0-\n");
  EXPECT_FALSE(build(*controller, "broken1", 1));
  EXPECT_TRUE(build(*controller, "new1", 1)) << "the former map stays";
  EXPECT_NE(host_.log_text().find("elanhosts:1"), std::string::npos) << host_.log_text();

  set_hosts("eip [10-19] new[0-9]\n");
  ASSERT_TRUE(controller->load(std::nullopt, {}));
  EXPECT_EQ(fields(build(*controller, "new1", 1)).low_node, 11U);
}

TEST_F(ElanAllocationTest, Check20_OrderAgainstElanIdsIsRefused) {
  set_hosts("eip [3,2,1,0] q[0-3]\n");
  for (const char* nodes : {"q[0-1]", "q[3,0]", "q[2,2]"}) {
    auto controller = this->controller();
    const auto list = NodeList::parse(nodes);
    const auto refused =
        controller->build_credential(*StepLayout::from_counts(*list, 2, TaskDistribution::block));
    ASSERT_EQ(static_cast<bool>(refused), std::string_view(nodes) == "q[3,0]");
    if (refused) continue;
    EXPECT_EQ(refused.error().code, EINVAL);
    EXPECT_NE(refused.error().detail.find("order"), std::string::npos);
  }
}

TEST_F(ElanAllocationTest, ProgramNumbersCountOnAndWrap) {
  auto controller = this->controller();
  const std::uint32_t first = fields(build(*controller, "q0", 1)).program;
  const std::uint32_t second = fields(build(*controller, "q0", 1)).program;

  EXPECT_EQ(second, first == kMaxProgram ? 1 : first + 1);
  EXPECT_NE(fields(build(*this->controller(), "q0", 1)).program, first) << "starts are random";
}

TEST_F(ElanAllocationTest, NoFragIsAnOption) {
  EXPECT_TRUE(controller()->delays_scheduling());
  options_["no_frag"] = "no";
  EXPECT_FALSE(controller()->delays_scheduling());
}

TEST_F(ElanAllocationTest, NodeRecordsAreEmpty) {
  auto controller = this->controller();

  EXPECT_TRUE(controller->accept_node_record({}));
  EXPECT_EQ(controller->accept_node_record({{std::byte{1}}}).error().kind, Errc::corrupt);
}

}  // namespace
}  // namespace hal::elan::test
