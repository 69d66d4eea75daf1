// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <gmock/gmock.h>
#include <set>

#include "host/plugin.h"
#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;

/// Names of the 29 functions in the loader's order, without their prefix.
std::vector<std::string> required_functions() {
  std::vector<std::string> names;
  for (const SymbolSlot& slot : table_of(Family::interconnect).required) {
    names.push_back(std::string(slot.symbol).substr(std::string("switch_p_").size()));
  }
  return names;
}

class SwitchSymbolsTest : public test::TemporaryDirectory,
                          public ::testing::WithParamInterface<std::string> {};

TEST_P(SwitchSymbolsTest, APluginThatLacksItIsRefusedByName) {
  install("switch_without_" + GetParam());

  const auto plugin = SwitchPlugin::open("switch/without_" + GetParam(), PluginPath(directory()));

  ASSERT_FALSE(plugin);
  EXPECT_EQ(plugin.error().kind, Errc::unsupported);
  EXPECT_THAT(plugin.error().detail,
              HasSubstr("1 of 29 functions missing: switch_p_" + GetParam() + ";"));
}

INSTANTIATE_TEST_SUITE_P(All, SwitchSymbolsTest, ::testing::ValuesIn(required_functions()),
                         [](const auto& test) { return test.param; });

using SwitchLoadTest = test::TemporaryDirectory;

TEST_F(SwitchLoadTest, EveryRequiredFunctionGetsItsMember) {
  install("switch_full");

  const auto plugin = SwitchPlugin::open("switch/full", PluginPath(directory()));

  ASSERT_TRUE(plugin) << plugin.error().detail;
  const SwitchFunctions& functions = *plugin->operator->();
  for (const SymbolSlot& slot : table_of(Family::interconnect).required) {
    void* address = nullptr;
    std::memcpy(&address, reinterpret_cast<const std::byte*>(&functions) + slot.offset,
                sizeof address);
    EXPECT_NE(address, nullptr) << slot.symbol;
  }
  EXPECT_EQ(reinterpret_cast<void*>(functions.libstate_restore_late),
            reinterpret_cast<void*>(functions.libstate_restore));
  EXPECT_EQ(reinterpret_cast<void*>(functions.build_jobinfo_counts),
            reinterpret_cast<void*>(functions.build_jobinfo));
  EXPECT_EQ(functions.job_step_allocated, nullptr) << "optional and absent";
}

TEST(FamiliesTest, CountsAreThoseOfTheDocuments) {
  const auto required = [](Family family) { return table_of(family).required.size(); };

  EXPECT_EQ(required(Family::interconnect), 29U);
  EXPECT_EQ(required(Family::proctrack), 8U);
  EXPECT_EQ(required(Family::job_container), 6U);
  EXPECT_EQ(required(Family::core_spec), 4U);
  EXPECT_EQ(required(Family::jobacct), 9U);
}

TEST(FamiliesTest, EveryMemberOfAFunctionStructIsFilledOnce) {
  for (const FamilyTable& table : families()) {
    std::set<std::size_t> offsets;
    for (const auto& slots : {table.required, table.optional}) {
      for (const SymbolSlot& slot : slots) {
        EXPECT_TRUE(offsets.insert(slot.offset).second) << slot.symbol;
      }
    }
    EXPECT_EQ(offsets.size() * sizeof(void*), table.functions_size) << table.major;
  }
}

TEST(FamiliesTest, AreFoundByMajor) {
  for (const FamilyTable& table : families()) EXPECT_EQ(find_family(table.major), &table);
  EXPECT_EQ(find_family("jobacct_gather"), nullptr);
  EXPECT_EQ(find_family(""), nullptr);
}

}  // namespace
}  // namespace hal::host
