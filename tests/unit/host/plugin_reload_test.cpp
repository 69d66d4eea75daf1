// SPDX-License-Identifier: BSD-3-Clause
#include <cstddef>
#include <filesystem>
#include <gtest/gtest.h>
#include <iterator>
#include <malloc.h>
#include <string>
#include <vector>

#include "host/plugin.h"

namespace hal::host {
namespace {

struct Shipped {
  Family family;
  const char* type;
};

class PluginReloadTest : public ::testing::TestWithParam<Shipped> {};

void open_and_close(const Shipped& shipped, int times) {
  const PluginPath path(BACKPLANE_CLASSIC_DIR);
  std::vector<std::byte> functions(table_of(shipped.family).functions_size);
  for (int i = 0; i < times; ++i) {
    const auto plugin = Plugin::open(shipped.family, shipped.type, path, functions.data());
    ASSERT_TRUE(plugin) << plugin.error().detail;
  }
}

std::ptrdiff_t open_descriptors() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

/// Bytes in use on the heap; 0 where a sanitizer has its own heap.
std::ptrdiff_t heap_in_use() {
  const auto info = ::mallinfo2();
  return static_cast<std::ptrdiff_t>(info.uordblks + info.hblkhd);
}

TEST_P(PluginReloadTest, AReconfiguredDaemonLosesNothing) {
  constexpr int kTimes = 50;
  open_and_close(GetParam(), kTimes);  // whatever is set up once
  const std::ptrdiff_t descriptors = open_descriptors();
  const std::ptrdiff_t heap = heap_in_use();

  open_and_close(GetParam(), kTimes);

  EXPECT_EQ(open_descriptors(), descriptors);
  EXPECT_LT(heap_in_use() - heap, kTimes * 64) << "bytes more than before";
}

INSTANTIATE_TEST_SUITE_P(All, PluginReloadTest,
                         ::testing::Values(Shipped{Family::interconnect, "switch/none"},
                                           Shipped{Family::proctrack, "proctrack/pgid"},
                                           Shipped{Family::job_container, "job_container/none"},
                                           Shipped{Family::core_spec, "core_spec/none"},
                                           Shipped{Family::jobacct, "jobacct/none"}),
                         [](const auto& test) {
                           return std::string(table_of(test.param.family).major);
                         });

}  // namespace
}  // namespace hal::host
