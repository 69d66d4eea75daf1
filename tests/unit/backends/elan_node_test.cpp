// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <gmock/gmock.h>

#include "tests/unit/backends/elan_node_fixture.h"

namespace hal::elan::test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

/// The numbering that the vendor's own library gives the processes.
std::vector<std::pair<int, int>> vendor_places(ELAN_CAPABILITY& cap) {
  void* library = ::dlopen(BACKPLANE_MOCK_DIR "/libelanctrl.so", RTLD_NOW);
  int (*nvps)(ELAN_CAPABILITY*) = nullptr;
  ELAN_LOCATION (*vp2location)(unsigned, ELAN_CAPABILITY*) = nullptr;
  backplane_mock::Vendor::find(library, "elan_nvps", nvps);
  backplane_mock::Vendor::find(library, "elan_vp2location", vp2location);
  std::vector<std::pair<int, int>> places;
  for (int vp = 0; vp < nvps(&cap); ++vp) {
    const ELAN_LOCATION at = vp2location(static_cast<unsigned>(vp), &cap);
    places.emplace_back(cap.cap_lownode + at.loc_node, cap.cap_lowcontext + at.loc_context);
  }
  return places;
}

TEST_F(ElanNodeTest, Check01_VendorNumbersTheProcessesOfTheExample) {
  auto controller = this->controller();
  step_ = *build(*controller, "q[4,6-7]", 5);
  auto block = capability(-1);
  step_ = *build(*this->controller(), "q[4,6-7]", 5, TaskDistribution::cyclic);
  auto cyclic = capability(-1);

  EXPECT_THAT(vendor_places(block), ElementsAre(Pair(4, 0x400), Pair(4, 0x401), Pair(6, 0x400),
                                                Pair(6, 0x401), Pair(7, 0x400)));
  EXPECT_THAT(vendor_places(cyclic), ElementsAre(Pair(4, 0x400), Pair(6, 0x400), Pair(7, 0x400),
                                                 Pair(4, 0x401), Pair(6, 0x401)));
}

TEST_F(ElanNodeTest, Check14_OrderOfVendorCalls) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = this->session();

  ASSERT_EQ(opened_, 0);
  EXPECT_THAT(calls_of(session->pid()),
              ElementsAre("rmsmod_init", "elanctrl_open", "elanctrl_create_cap", "rms_prgcreate",
                          "rms_prgaddcap"));
  session->tell();
  session->wait();
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

TEST_F(ElanNodeTest, Check14_CapabilityLivesUntilSessionAndTasksEnd) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto session = session_with_task();
  ASSERT_GT(task_, 0);
  EXPECT_TRUE(mock_->attach_check(5, capability(0x400))) << "open_context has returned";

  session->tell();
  session->wait();
  EXPECT_TRUE(mock_->attach_check(5, capability(0x400))) << "a task still runs";

  ::kill(task_, SIGKILL);
  reap_orphans();
  EXPECT_FALSE(mock_->attach_check(5, capability(0x400)));
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

TEST_F(ElanNodeTest, Check17_EnvironmentAndContextOfATask) {
  ASSERT_TRUE(node_->prepare(step_));
  const backplane_mock::Vendor vendor;
  Child session([&](Child&) {
    if (!node_->open_context(step_, ::getuid())) return 1;
    Child task([&](Child&) {
      const auto environment = node_->attach(step_, task_place(1));
      if (!environment) return 2;
      const std::string key = std::to_string(read_capability(step_)->statistics_key());
      const EnvUpdates expected{{"RMS_RANK", "3"},   {"RMS_PROCID", "3"}, {"RMS_NODEID", "1"},
                                {"RMS_NNODES", "4"}, {"RMS_NPROCS", "8"}, {"ELAN_STATKEY", key}};
      if (*environment != expected) return 3;
      ELAN_CAPABILITY own{};
      if (vendor.getcap(0, &own) != 0) return 4;
      return own.cap_mycontext == 0x401 ? 0 : 5;
    });
    const int result = task.wait();
    return result != 0 ? result : node_->leave(step_) ? 0 : 6;
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

// The mock kernel accepts one context too many, as the real one does.
TEST_F(ElanNodeTest, Check17_LocalIdOutOfRangeIsRefused) {
  ASSERT_TRUE(node_->prepare(step_));
  Child session([&](Child&) {
    if (!node_->open_context(step_, ::getuid())) return 1;
    for (const std::uint32_t local_id : {2U, 3U, 0xFFFFFFFFU}) {
      const auto attached = node_->attach(step_, task_place(local_id));
      if (attached || attached.error().code != kInvalidSetCap) return 2;
    }
    return node_->leave(step_) && !node_->attach(step_, task_place(0))->empty() ? 0 : 3;
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_EQ(count_calls("rms_setcap"), 1);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
}

TEST_F(ElanNodeTest, Check17_NoSegmentNoKey) {
  ASSERT_TRUE(node_->prepare(step_));
  Child session([&](Child&) {
    if (!node_->open_context(step_, ::getuid()) || !node_->leave(step_)) return 1;
    const auto environment = node_->attach(step_, task_place(0));
    if (!environment) return 2;
    return environment->size() == 5 ? 0 : 3;
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
}

TEST_F(ElanNodeTest, Check18_NoMember) {
  const auto attached = node_->attach(step_, task_place(0));

  ASSERT_FALSE(attached);
  EXPECT_EQ(attached.error().kind, Errc::not_found);
  EXPECT_EQ(attached.error().code, ESRCH);
}

TEST_F(ElanNodeTest, Check18_DescriptorsClosedBehindTheLibrary) {
  ASSERT_TRUE(node_->prepare(step_));
  Child session([&](Child&) {
    if (!node_->open_context(step_, ::getuid())) return 1;
    ::close_range(3, ~0U, 0);
    const auto attached = node_->attach(step_, task_place(0));
    return !attached && attached.error().code == EBADF ? 0 : 2;
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
}

TEST_F(ElanNodeTest, Check26_TwoRailsOneCreate) {
  auto wire = bytes_of(step_.wire());
  wire[55] = std::byte{3};
  step_ = Credential(std::move(wire));
  ASSERT_TRUE(node_->prepare(step_));

  const auto session = this->session();

  EXPECT_EQ(opened_, 0);
  EXPECT_EQ(count_calls("elanctrl_create_cap"), 1);
  session->tell();
  session->wait();
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

TEST_F(ElanNodeTest, Check27_MissingLibraryOrSymbol) {
  struct {
    const char* key;
    std::string value;
    const char* named;
  } const cases[] = {
      {"librmscall", directory_.file("librmscall.so"), "librmscall.so"},
      {"librmscall", BACKPLANE_MOCK_DIR "/lacking/librmscall.so", "rms_prgaddcap"},
      {"libelanctrl", BACKPLANE_MOCK_DIR "/lacking/libelanctrl.so", "elanctrl_create_cap"}};
  for (const auto& one : cases) {
    options_[one.key] = one.value;
    const auto poor = node();
    options_[one.key] = std::string(BACKPLANE_MOCK_DIR) + "/" + one.key + ".so";
    EXPECT_TRUE(poor->start());
    EXPECT_TRUE(poor->record());
    EXPECT_TRUE(poor->prepare(step_));

    const auto opened = poor->open_context(step_, ::getuid());

    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().kind, Errc::no_device);
    EXPECT_EQ(opened.error().code, kElanControl);
    EXPECT_THAT(opened.error().detail, HasSubstr(one.named));
    EXPECT_THAT(opened.error().detail, HasSubstr(one.value));
  }
  expect_nothing_left();
}

TEST_F(ElanNodeTest, UnbuiltCredentialsAreHarmless) {
  const Credential unbuilt;

  EXPECT_EQ(code_of(node_->prepare(unbuilt)), kBadMagicJobInfo);
  EXPECT_EQ(code_of(node_->open_context(unbuilt, ::getuid())), kBadMagicJobInfo);
  EXPECT_TRUE(node_->leave(unbuilt));
  EXPECT_TRUE(node_->destroy_context(unbuilt, {}));
  EXPECT_TRUE(mock_->trace().empty());
}

TEST_F(ElanNodeTest, OldFlavourOpensAndDestroys) {
  options_["flavour"] = "elan3";
  node_ = node();
  step_ = *build(*this->controller(), "q[4-7]", 8);
  ASSERT_TRUE(node_->prepare(step_));

  const auto session = this->session();

  ASSERT_EQ(opened_, 0);
  EXPECT_THAT(calls_of(session->pid()),
              ElementsAre("rmsmod_init", "elan3_control_open", "elan3_create", "rms_prgcreate",
                          "rms_prgaddcap"));
  session->tell();
  session->wait();
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

}  // namespace
}  // namespace hal::elan::test
