// SPDX-License-Identifier: BSD-3-Clause
#include "hal/host.h"

#include <gtest/gtest.h>

namespace hal {
namespace {

using namespace std::chrono_literals;

TEST(SystemClock, IsOneObject) { EXPECT_EQ(&system_clock(), &system_clock()); }

TEST(SystemClock, NeverRunsBackward) {
  Clock& clock = system_clock();
  auto before = clock.now();
  for (int i = 0; i < 1000; ++i) {
    const auto now = clock.now();
    EXPECT_GE(now, before);
    before = now;
  }
}

TEST(SystemClock, WaitsAtLeastTheSpan) {
  Clock& clock = system_clock();
  const auto start = clock.now();

  clock.wait(2ms);

  EXPECT_GE(clock.now() - start, 2ms);
}

TEST(SystemClock, NoTimeIsNoWait) {
  system_clock().wait(0ms);
  system_clock().wait(-5ms);
}

}  // namespace
}  // namespace hal
