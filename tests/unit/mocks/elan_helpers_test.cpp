// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <pthread.h>
#include <thread>
#include <vector>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

class ElanHelpers : public ElanMockTest {
 protected:
  template <class Function>
  Function find(void* library, const char* name) {
    Function function = nullptr;
    Vendor::find(library, name, function);
    EXPECT_NE(function, nullptr) << name;
    return function;
  }

  std::vector<std::pair<int, int>> places(ELAN_CAPABILITY cap) {
    const auto nvps = find<int (*)(ELAN_CAPABILITY*)>(vendor_.ctrl, "elan_nvps");
    const auto where =
        find<ELAN_LOCATION (*)(unsigned, ELAN_CAPABILITY*)>(vendor_.ctrl, "elan_vp2location");
    const auto back =
        find<int (*)(ELAN_LOCATION, ELAN_CAPABILITY*)>(vendor_.ctrl, "elan_location2vp");
    std::vector<std::pair<int, int>> found;
    for (int p = 0; p < nvps(&cap); ++p) {
      const ELAN_LOCATION location = where(static_cast<unsigned>(p), &cap);
      EXPECT_EQ(back(location, &cap), p);
      found.emplace_back(cap.cap_lownode + location.loc_node,
                         cap.cap_lowcontext + location.loc_context);
    }
    EXPECT_EQ(where(static_cast<unsigned>(nvps(&cap)), &cap).loc_node, 0xFFFF);
    EXPECT_EQ(back({3, 1}, &cap), 0x7fffffff) << "a slot without a process";
    return found;
  }
};

TEST_F(ElanHelpers, ProcessNumbersOfTheWorkedExample) {  // Elan sheet 3.5
  ELAN_CAPABILITY block = capability();
  block.cap_bitmap[0] = 0x73;
  ELAN_CAPABILITY cyclic = capability();
  cyclic.cap_type = 0xA002;
  cyclic.cap_bitmap[0] = 0x5D;

  EXPECT_THAT(places(block), ElementsAre(Pair(4, 0x400), Pair(4, 0x401), Pair(6, 0x400),
                                         Pair(6, 0x401), Pair(7, 0x400)));
  EXPECT_THAT(places(cyclic), ElementsAre(Pair(4, 0x400), Pair(6, 0x400), Pair(7, 0x400),
                                          Pair(4, 0x401), Pair(6, 0x401)));
  const auto nlocal = find<int (*)(int, ELAN_CAPABILITY*)>(vendor_.ctrl, "elan_nlocal");
  EXPECT_EQ(nlocal(0, &block), 2);
  EXPECT_EQ(nlocal(1, &block), 0);
  EXPECT_EQ(nlocal(3, &block), 1);
  int local[2] = {-1, -1};
  const auto localvps =
      find<int (*)(int, ELAN_CAPABILITY*, int*, int)>(vendor_.ctrl, "elan_localvps");
  EXPECT_EQ(localvps(2, &block, local, 2), 2);
  EXPECT_THAT(local, ElementsAre(2, 3));
}

TEST_F(ElanHelpers, NullCapabilityRailsAndText) {
  ELAN_CAPABILITY cap{};
  vendor_.nullcap(&cap);
  EXPECT_EQ(cap.cap_version, 0x00010002);
  EXPECT_EQ(cap.cap_spare, 0);
  EXPECT_EQ(cap.cap_lowcontext, -1);
  EXPECT_EQ(cap.cap_type, 0xFFFF);
  EXPECT_EQ(cap.cap_railmask, 0xFFFFFFFFU);
  EXPECT_EQ(cap.cap_bitmap[0], 0U);
  const auto nrails = find<int (*)(ELAN_CAPABILITY*)>(vendor_.ctrl, "elan_nrails");
  cap = capability();
  cap.cap_railmask = 5;
  EXPECT_EQ(nrails(&cap), 2);
  cap.cap_type = 1;
  EXPECT_EQ(nrails(&cap), 1);
  char text[256];
  const auto string =
      find<char* (*)(ELAN_CAPABILITY*, char*)>(vendor_.ctrl, "elan_capability_string");
  EXPECT_STREQ(string(&cap, text),
               "[11111111.22222222.33333333.44444444] Version 10002 Type 1 \n"
               "Context 400.ffffffff.401 Node 4.7");
  EXPECT_STREQ(string(nullptr, text), "[-.-.-.-] Version - Type - \nContext -.-.- Node -.-");
}

TEST_F(ElanHelpers, OldFlavourCreatesAndRmsKnowsItsSize) {
  const auto open = find<void* (*)(int)>(vendor_.elan3, "elan3_control_open");
  const auto create = find<int (*)(void*, ELAN3_CAPABILITY*)>(vendor_.elan3, "elan3_create");
  const auto close = find<void (*)(void*)>(vendor_.elan3, "elan3_control_close");
  const auto nullcap = find<void (*)(ELAN3_CAPABILITY*)>(vendor_.elan3, "elan3_nullcap");
  EXPECT_EQ(open(31), nullptr) << "no such rail";
  void* context = open(0);
  ASSERT_NE(context, nullptr);
  ELAN3_CAPABILITY cap{};
  nullcap(&cap);
  EXPECT_EQ(outcome(create(context, &cap)), EINVAL);
  cap.cap_type = 0xA001;
  cap.cap_lowcontext = 0x400;
  cap.cap_highcontext = 0x401;
  cap.cap_lownode = 4;
  cap.cap_highnode = 7;
  cap.cap_railmask = 1;
  cap.cap_bitmap[0] = 0x73;
  cap.cap_highnode = 4 + 256;
  EXPECT_EQ(outcome(create(context, &cap)), EINVAL) << "514 slots, 512 allowed";
  cap.cap_highnode = 7;
  ASSERT_EQ(outcome(create(context, &cap)), 0);
  EXPECT_EQ(outcome(create(context, &cap)), EINVAL) << "overlaps itself";

  auto owner = session(7, [&](Child& self) {
    ELAN3_CAPABILITY got{};
    vendor_.prgaddcap(7, 0, &cap);
    vendor_.setcap(0, 1);
    self.tell_number(outcome(vendor_.getcap(0, &got)));
    self.tell_number(got.cap_mycontext);
    self.tell_number(static_cast<int>(got.cap_railmask));
    self.tell_number(static_cast<int>(got.cap_bitmap[0]));
    return mock_->attach_check(5, got) ? 0 : 1;
  });
  EXPECT_EQ(owner->hear_number(), 0);
  EXPECT_EQ(owner->hear_number(), 0x401);
  EXPECT_EQ(owner->hear_number(), 1);
  EXPECT_EQ(owner->hear_number(), 0x73);
  owner->hear();
  owner->tell();
  EXPECT_EQ(owner->wait(), 0);
  close(context);
  EXPECT_EQ(vendor_.prgdestroy(7), 0);
  EXPECT_THAT(mock_->leaks(), ::testing::IsEmpty());
}

TEST_F(ElanHelpers, ErrorServiceRunsOnceANode) {
  const auto init = find<int (*)(int)>(vendor_.elan3, "elan3_init_neterr_svc");
  const auto enlist = find<int (*)()>(vendor_.elan3, "elan3_register_neterr_svc");
  const auto run = find<int (*)()>(vendor_.elan3, "elan3_run_neterr_svc");
  const auto load = find<int (*)(int, char*)>(vendor_.elan3, "elan3_load_neterr_svc");
  std::string host = "n5";
  EXPECT_NE(init(0), 0) << "non-zero is success";
  EXPECT_EQ(load(5, host.data()), 0);
  EXPECT_LT(load(5, nullptr), 0);
  Child daemon([&](Child& self) {
    self.tell(enlist() != 0 ? 'y' : 'n');
    return static_cast<int>(self.hear());
  });
  ASSERT_EQ(daemon.hear(), 'y');

  EXPECT_EQ(enlist(), 0);
  EXPECT_EQ(errno, EADDRINUSE);

  daemon.kill_and_wait();
  EXPECT_NE(enlist(), 0) << "freed by the death of its holder";
  pthread_t thread{};
  auto body = +[](void* function) -> void* {
    reinterpret_cast<int (*)()>(function)();
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, nullptr, body, reinterpret_cast<void*>(run)), 0);
  ASSERT_EQ(::pthread_cancel(thread), 0);
  void* result = nullptr;
  ASSERT_EQ(::pthread_join(thread, &result), 0);
  EXPECT_EQ(result, PTHREAD_CANCELED);
  mock_->inject("elan3_run_neterr_svc", 1, EIO);
  EXPECT_EQ(run(), -1) << "an injected failure makes it return";
}

}  // namespace
}  // namespace backplane_mock
