// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <gmock/gmock.h>
#include <sys/prctl.h>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class ElanCapability : public ElanMockTest {
 protected:
  /// What the kernel says to `cap` through a handle that is closed at once.
  int create_once(ELAN_CAPABILITY cap) {
    void* handle = open_handle();
    const int error = outcome(vendor_.create_cap(handle, &cap));
    vendor_.close_control(handle);
    return error;
  }
};

TEST_F(ElanCapability, EachFieldIsChecked) {
  using Change = void (*)(ELAN_CAPABILITY&);
  const Change changes[] = {
      [](ELAN_CAPABILITY& c) { c.cap_version = 0x00010001; },
      [](ELAN_CAPABILITY& c) { c.cap_type = 0xA003; },
      [](ELAN_CAPABILITY& c) { c.cap_type = 0xA000; },
      [](ELAN_CAPABILITY& c) { c.cap_type = 0xB001; },
      [](ELAN_CAPABILITY& c) { c.cap_lowcontext = -1; },
      [](ELAN_CAPABILITY& c) { c.cap_highcontext = -1; },
      [](ELAN_CAPABILITY& c) { c.cap_lowcontext = 0x402; },
      [](ELAN_CAPABILITY& c) { c.cap_lownode = -1; },
      [](ELAN_CAPABILITY& c) { c.cap_lownode = 8; },
      [](ELAN_CAPABILITY& c) { c.cap_mycontext = 0; },
  };

  EXPECT_EQ(create_once(capability()), 0);
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    ELAN_CAPABILITY cap = capability();
    changes[i](cap);
    EXPECT_EQ(create_once(cap), EINVAL) << "change " << i;
  }
}

TEST_F(ElanCapability, NodeSpanTimesContextsIsLimited) {
  ELAN_CAPABILITY cap = capability(0x400, 0x40F);
  cap.cap_lownode = 0;
  cap.cap_highnode = 1023;

  EXPECT_EQ(create_once(cap), 0) << "1024 x 16";
  cap.cap_highnode = 1024;
  EXPECT_EQ(create_once(cap), EINVAL) << "1025 x 16";
  mock_->set_option("max_vps", 8);
  EXPECT_EQ(create_once(capability()), 0) << "4 x 2";
  mock_->set_option("max_vps", 7);
  EXPECT_EQ(create_once(capability()), EINVAL);
}

TEST_F(ElanCapability, OverlapNeedsContextsNodesAndRails) {
  void* handle = open_handle();
  ELAN_CAPABILITY first = capability();
  ASSERT_EQ(vendor_.create_cap(handle, &first), 0);

  EXPECT_EQ(create_once(capability()), EINVAL);
  EXPECT_EQ(create_once(capability(0x401, 0x402)), EINVAL);
  EXPECT_EQ(create_once(capability(0x402, 0x403)), 0);
  ELAN_CAPABILITY other_nodes = capability();
  other_nodes.cap_lownode = 8;
  other_nodes.cap_highnode = 9;
  EXPECT_EQ(create_once(other_nodes), 0);
  ELAN_CAPABILITY other_rail = capability();
  other_rail.cap_railmask = 2;
  EXPECT_EQ(create_once(other_rail), 0);
  other_rail.cap_railmask = 3;
  EXPECT_EQ(create_once(other_rail), EINVAL);
  ::setenv("SLURMD_NODENAME", "n6", 1);
  EXPECT_EQ(create_once(capability()), 0) << "another node has its own kernel";
  EXPECT_EQ(vendor_.close_control(handle), 0);
}

TEST_F(ElanCapability, DiesWithTheLastHolderOfItsHandle) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();
  ASSERT_EQ(vendor_.create_cap(handle, &cap), 0);
  Child holder([&](Child& self) {
    self.hear();
    return 0;
  });

  EXPECT_EQ(vendor_.close_control(handle), 0);
  EXPECT_EQ(create_once(capability()), EINVAL) << "the child still holds it";
  EXPECT_EQ(holder.kill_and_wait(), 128 + SIGKILL);
  EXPECT_EQ(create_once(capability()), 0);
  EXPECT_THAT(mock_->leaks(), IsEmpty());
}

TEST_F(ElanCapability, ExecDropsTheHandleUnlessTold) {
  for (const bool keep : {false, true}) {
    mock_->set_option("control_cloexec", keep ? 0 : 1);
    Child owner([&](Child& self) {
      void* handle = nullptr;
      ELAN_CAPABILITY cap = capability();
      if (vendor_.open_control(&handle) != 0 || vendor_.create_cap(handle, &cap) != 0) return 1;
      self.tell();
      self.hear();
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::execl("/bin/sleep", "sleep", "60", nullptr);
      return 2;
    });
    ASSERT_EQ(owner.hear(), 'g');
    EXPECT_EQ(create_once(capability()), EINVAL);

    owner.tell();
    EXPECT_EQ(owner.hear(), '\0') << "exec closed the socket";

    EXPECT_EQ(create_once(capability()), keep ? EINVAL : 0);
    owner.kill_and_wait();
    EXPECT_EQ(create_once(capability()), 0);
  }
}

TEST_F(ElanCapability, ClosingOneStillRefusesOverlapAndAttach) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();
  ASSERT_EQ(vendor_.create_cap(handle, &cap), 0);
  cap.cap_mycontext = 0x400;
  auto task = mock_->attach_check(5, cap);
  ASSERT_TRUE(task);

  ASSERT_EQ(vendor_.close_control(handle), 0);

  EXPECT_EQ(create_once(capability()), EINVAL);
  cap.cap_mycontext = 0x401;
  EXPECT_FALSE(mock_->attach_check(5, cap));
  EXPECT_THAT(mock_->leaks(), testing::Contains(HasSubstr("closing")));
  task.reset();
  EXPECT_EQ(create_once(capability()), 0);
}

TEST_F(ElanCapability, AttachChecksKeyGeometryAndSingleUse) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();
  ASSERT_EQ(vendor_.create_cap(handle, &cap), 0);
  cap.cap_mycontext = 0x400;

  auto task = mock_->attach_check(5, cap);

  EXPECT_TRUE(task);
  EXPECT_FALSE(mock_->attach_check(5, cap));
  EXPECT_EQ(errno, EBUSY) << "each context attaches once";
  ELAN_CAPABILITY wrong = cap;
  wrong.cap_mycontext = 0x401;
  EXPECT_TRUE(mock_->attach_check(5, wrong));
  wrong.cap_userkey.key_values[3] ^= 1U;
  EXPECT_FALSE(mock_->attach_check(5, wrong)) << "key";
  wrong = cap;
  wrong.cap_highcontext = 0x402;
  EXPECT_FALSE(mock_->attach_check(5, wrong)) << "geometry";
  wrong = cap;
  wrong.cap_mycontext = 0x402;
  EXPECT_FALSE(mock_->attach_check(5, wrong)) << "one past the range";
  EXPECT_FALSE(mock_->attach_check(6, cap)) << "never created on node 6";
  EXPECT_FALSE(mock_->attach_check(5, cap, 1)) << "rail not in the mask";
  task.reset();
  EXPECT_TRUE(mock_->attach_check(5, cap)) << "free again";
  EXPECT_EQ(vendor_.close_control(handle), 0);
}

TEST_F(ElanCapability, AttachChecksRangesOfContextsAndNodes) {
  ELAN_CAPABILITY user = capability(64, 65);
  user.cap_mycontext = 64;
  EXPECT_TRUE(mock_->attach_check(5, user)) << "below the RMS range nothing must be created";
  user.cap_highcontext = 0x400;
  EXPECT_FALSE(mock_->attach_check(5, user)) << "half in the RMS range";
  ELAN_CAPABILITY high = capability(0x7FF, 0x800);
  high.cap_mycontext = 0x7FF;
  EXPECT_FALSE(mock_->attach_check(5, high)) << "above 0x7FF";
  ELAN_CAPABILITY elsewhere = capability(64, 65);
  elsewhere.cap_mycontext = 64;
  EXPECT_FALSE(mock_->attach_check(3, elsewhere)) << "local id outside the node range";
  mock_->set_option("nodes", 7);
  EXPECT_FALSE(mock_->attach_check(5, elsewhere)) << "highnode 7 of 7 nodes";
  mock_->set_option("nodes", 8);
  EXPECT_TRUE(mock_->attach_check(5, elsewhere));
}

TEST_F(ElanCapability, SwitchesForLimitsAndOldDrivers) {
  EXPECT_EQ(create_once(capability(0x7FF, 0x7FF)), 0);
  mock_->set_option("refuse_7ff", 1);
  EXPECT_EQ(create_once(capability(0x7FE, 0x7FF)), EINVAL);
  EXPECT_EQ(create_once(capability(0x7FE, 0x7FE)), 0);
  mock_->set_option("max_context", 0x410);
  EXPECT_EQ(create_once(capability(0x410, 0x411)), EINVAL);
  mock_->set_option("max_capabilities", 0);
  EXPECT_EQ(create_once(capability()), ENOMEM);
  mock_->set_option("max_handles", 0);
  void* handle = nullptr;
  EXPECT_EQ(outcome(vendor_.open_control(&handle)), ENOMEM);
  mock_->set_option("device_root_only", 1);
  ::setenv("BACKPLANE_MOCK_UID", "1000", 1);
  EXPECT_EQ(outcome(vendor_.open_control(&handle)), EACCES);
  EXPECT_FALSE(mock_->set_option("no_such_option", 1));
}

TEST_F(ElanCapability, BadHandlesAreRefused) {
  void* handle = open_handle();
  ELAN_CAPABILITY cap = capability();

  EXPECT_EQ(outcome(vendor_.create_cap(handle, nullptr)), EFAULT);
  EXPECT_EQ(outcome(vendor_.create_cap(nullptr, &cap)), EBADF);
  EXPECT_EQ(outcome(vendor_.open_control(nullptr)), EFAULT);
  EXPECT_EQ(outcome(vendor_.close_control(nullptr)), EBADF);
  EXPECT_EQ(vendor_.close_control(handle), 0);
}

TEST_F(ElanCapability, PositionNamesTheNode) {
  void* handle = open_handle();
  ELAN_POSITION position{};

  ASSERT_EQ(vendor_.get_position(handle, 0, &position), 0);

  EXPECT_EQ(position.pos_mode, 1U);
  EXPECT_EQ(position.pos_nodeid, 5U);
  EXPECT_EQ(position.pos_nodes, 1024U);
  EXPECT_EQ(position.pos_levels, 5U);
  EXPECT_EQ(outcome(vendor_.get_position(handle, 31, &position)), EINVAL);
  EXPECT_EQ(outcome(vendor_.get_position(handle, 0, nullptr)), EFAULT);
  vendor_.close_control(handle);
  mock_->set_node("login", 77);
  ::setenv("SLURMD_NODENAME", "login", 1);
  handle = open_handle();
  ASSERT_EQ(vendor_.get_position(handle, 0, &position), 0);
  EXPECT_EQ(position.pos_nodeid, 77U) << "named in the state";
  vendor_.close_control(handle);
}

}  // namespace
}  // namespace backplane_mock
