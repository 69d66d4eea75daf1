// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <gmock/gmock.h>

#include "tests/unit/backends/elan_node_fixture.h"

namespace hal::elan::test {
namespace {

using ::testing::ElementsAre;

class ElanErrorServiceTest : public ElanNodeTest {
 protected:
  /// An Elan3 adapter and three hosts, one of them not on the Elan.
  void add_elan3() {
    write_text(directory_.file("device0"), "");
    set_hosts("eip [0,2] q[0,2]\neth 1 gateway\n");
    node_ = node();
  }
};

TEST_F(ElanErrorServiceTest, Check21_WithoutElan3NothingHappens) {
  EXPECT_TRUE(node_->start());
  EXPECT_TRUE(node_->stop());

  EXPECT_TRUE(mock_->trace().empty());
}

TEST_F(ElanErrorServiceTest, Check21_NamesFirstThenTheThread) {
  add_elan3();

  ASSERT_TRUE(node_->start());
  ASSERT_TRUE(node_->stop());

  const auto trace = mock_->trace();
  ASSERT_GE(trace.size(), 4U);
  EXPECT_EQ(trace[0].arguments, "id=0 host=q0");
  EXPECT_EQ(trace[1].arguments, "id=2 host=q2");
  EXPECT_EQ(trace[2].function, "elan3_init_neterr_svc");
  EXPECT_EQ(trace[3].function, "elan3_register_neterr_svc");
}

TEST_F(ElanErrorServiceTest, Check21_StartStopStart) {
  add_elan3();

  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(node_->start());
    EXPECT_TRUE(node_->start()) << "again";
    EXPECT_TRUE(node_->stop());
    EXPECT_TRUE(node_->stop()) << "again";
  }

  EXPECT_EQ(count_calls("elan3_init_neterr_svc"), 3);
}

TEST_F(ElanErrorServiceTest, Check21_AnotherDaemonServes) {
  add_elan3();
  ASSERT_TRUE(mock_->inject("elan3_register_neterr_svc", 1, EADDRINUSE));

  EXPECT_TRUE(node_->start());

  EXPECT_EQ(count_calls("elan3_run_neterr_svc"), 0);
  EXPECT_TRUE(node_->stop());
}

TEST_F(ElanErrorServiceTest, Check21_RefusalsAreErrors) {
  add_elan3();
  for (const char* function : {"elan3_register_neterr_svc", "elan3_init_neterr_svc"}) {
    ASSERT_TRUE(mock_->inject(function, 1, EIO));
    EXPECT_EQ(code_of(node_->start()), EIO) << function;
  }
  ASSERT_TRUE(mock_->inject("elan3_load_neterr_svc", 2, EINVAL));
  EXPECT_EQ(code_of(node_->start()), EINVAL);

  EXPECT_TRUE(node_->start()) << "later it works";
  EXPECT_TRUE(node_->stop());
}

TEST_F(ElanErrorServiceTest, Check21_LibraryOrHostsMissing) {
  add_elan3();
  options_["libelan3"] = directory_.file("libelan3.so");
  EXPECT_EQ(code_of(node()->start()), kElanControl);

  options_["elanhosts"] = directory_.file("absent");
  EXPECT_EQ(code_of(node()->start()), kGetNodeIdByHost);
}

TEST_F(ElanErrorServiceTest, Check21_AForkedChildLeavesTheThreadAlone) {
  add_elan3();
  ASSERT_TRUE(node_->start());

  Child child([&](Child&) { return node_->stop() ? 0 : 1; });

  EXPECT_EQ(child.wait(), 0);
  EXPECT_TRUE(node_->stop());
}

}  // namespace
}  // namespace hal::elan::test
