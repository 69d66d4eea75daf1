// SPDX-License-Identifier: BSD-3-Clause
#include <fstream>

#include "tests/unit/plugins/switch_plugin.h"

namespace hal::test {
namespace {

class EveryPlugin : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string type_of(std::string file) {
    file.resize(file.size() - std::string_view(".so").size());
    const auto cut = file.rfind('_');
    return file.substr(0, cut) + "/" + file.substr(cut + 1);
  }
};

TEST_P(EveryPlugin, Point3_OpensClosesAndOpensAgain) {
  const TestHost host;
  for (int round = 0; round < 3; ++round) {
    const LoadedPlugin plugin(GetParam());
    ASSERT_TRUE(plugin.opened());
    EXPECT_EQ(plugin.init(), 0);
    EXPECT_EQ(plugin.fini(), 0);
    EXPECT_EQ(plugin.init(), 0);
  }
  const auto path = std::string(BACKPLANE_CLASSIC_DIR) + "/" + GetParam();
  EXPECT_EQ(::dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD), nullptr) << "still mapped";
}

TEST_P(EveryPlugin, HundredReconfiguresLeaveNoDescriptorAndNoThread) {
  const TestHost host;
  const auto entries = [](const char* directory) {
    return std::distance(std::filesystem::directory_iterator(directory), {});
  };
  const auto descriptors = entries("/proc/self/fd");
  const auto threads = entries("/proc/self/task");

  for (int round = 0; round < 100; ++round) {
    const LoadedPlugin plugin(GetParam());
    ASSERT_EQ(plugin.init(), 0);
  }

  EXPECT_EQ(entries("/proc/self/fd"), descriptors);
  EXPECT_EQ(entries("/proc/self/task"), threads);
}

TEST_P(EveryPlugin, TypeIsTheFileName) {
  const TestHost host;
  const LoadedPlugin plugin(GetParam());

  EXPECT_STREQ(plugin.get<const char*>("plugin_type"), type_of(GetParam()).c_str());
  EXPECT_NE(std::string_view(plugin.get<const char*>("plugin_name")), "");
}

TEST_P(EveryPlugin, InitFailsOnAnUnsafeConfigurationAndSaysWhy) {
  TestHost host;
  host.set_config("key without a section\n");
  const LoadedPlugin plugin(GetParam());

  EXPECT_EQ(plugin.init(), -1);

  const auto log = TestHost::take_log();
  ASSERT_EQ(log.size(), 1U);
  EXPECT_NE(log[0].find("hal.conf:1"), std::string::npos) << log[0];
}

INSTANTIATE_TEST_SUITE_P(Loading, EveryPlugin, testing::Values(PLUGIN_FILES), [](const auto& test) {
  return std::string(test.param).substr(0, std::string_view(test.param).size() - 3);
});

TEST(PluginVersion, IsThatOfTheDocument) {
  const TestHost host;
  const auto version = [](const char* file) {
    return *LoadedPlugin(file).get<const std::uint32_t*>("plugin_version");
  };

  EXPECT_EQ(version("switch_none.so"), 100U);
  EXPECT_EQ(version("proctrack_pgid.so"), 91U);
  EXPECT_EQ(version("core_spec_none.so"), 100U);
  EXPECT_EQ(version("jobacct_none.so"), 100U);
}

}  // namespace
}  // namespace hal::test
