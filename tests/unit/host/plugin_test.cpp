// SPDX-License-Identifier: BSD-3-Clause
#include "host/plugin.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class PluginTest : public test::TemporaryDirectory {
 protected:
  [[nodiscard]] Result<CoreSpecPlugin> open(const std::string& type) const {
    return CoreSpecPlugin::open(type, PluginPath(directory()));
  }

  /// Kind and text of the failure that opening `type` meets.
  [[nodiscard]] Error refusal(const std::string& type) const {
    auto plugin = open(type);
    if (!plugin) return plugin.error();
    ADD_FAILURE() << type << " was opened";
    return {Errc::internal, EIO, ""};
  }
};

TEST_F(PluginTest, OpensAndCalls) {
  install("core_spec_good");

  const auto plugin = open("core_spec/good");

  ASSERT_TRUE(plugin) << plugin.error().detail;
  EXPECT_EQ(plugin->plugin().type(), "core_spec/good");
  EXPECT_EQ(plugin->plugin().name(), "good");
  EXPECT_EQ(plugin->plugin().version(), 100U);
  EXPECT_EQ(plugin->plugin().file(), path("core_spec_good.so"));
  EXPECT_EQ((*plugin)->set(5, 3), 3);
  EXPECT_EQ((*plugin)->set(0, 3), -1);
}

TEST_F(PluginTest, InitAndFiniRunOnceEachTimeItIsOpened) {
  install("core_spec_good");

  for (int round = 0; round < 2; ++round) {
    auto plugin = open("core_spec/good");
    ASSERT_TRUE(plugin) << plugin.error().detail;
    plugin->close();
    plugin->close();
  }

  EXPECT_EQ(marks(), "loaded init fini unloaded loaded init fini unloaded ");
}

TEST_F(PluginTest, AMovedPluginIsClosedOnce) {
  install("core_spec_good");

  {
    auto opened = open("core_spec/good");
    ASSERT_TRUE(opened) << opened.error().detail;
    CoreSpecPlugin first = std::move(*opened);
    CoreSpecPlugin second;
    second = std::move(first);
    EXPECT_FALSE(first.is_open());  // NOLINT(bugprone-use-after-move): that is the question
    EXPECT_TRUE(second.is_open());
  }

  EXPECT_EQ(marks(), "loaded init fini unloaded ");
}

TEST_F(PluginTest, AnAbandonedPluginIsNotFinished) {
  install("core_spec_good");
  const pid_t child = ::fork();
  if (child == 0) {
    auto plugin = open("core_spec/good");
    if (plugin) plugin->abandon();
    ::_exit(plugin ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
  EXPECT_EQ(marks(), "loaded init ");
}

TEST_F(PluginTest, UnknownMinorListsWhatExistsAndWhere) {
  install("core_spec_good");
  install("core_spec_extra");

  const Error error = refusal("core_spec/linux");

  EXPECT_EQ(error.kind, Errc::not_found);
  EXPECT_THAT(error.detail, HasSubstr("extra, good"));
  EXPECT_THAT(error.detail, HasSubstr(directory()));
  EXPECT_THAT(error.detail, HasSubstr("CoreSpecPlugin"));
}

TEST_F(PluginTest, ATypeOfAnotherFamilyOrShapeIsNotLookedFor) {
  for (const char* type : {"switch/none", "core_spec", "core_spec/", "core_spec/a/b",
                           "core_spec/..", "core_spec/a b", ""}) {
    EXPECT_EQ(refusal(type).kind, Errc::invalid_argument) << type;
  }
}

TEST_F(PluginTest, AFileOfAnotherTypeIsPassedOver) {
  const std::string first = make_directory("first");
  const std::string second = make_directory("second");
  install("core_spec_alien", first + "/core_spec_good.so");
  install("core_spec_good", second + "/core_spec_good.so");

  const auto plugin = CoreSpecPlugin::open("core_spec/good", PluginPath(first + ":" + second));

  ASSERT_TRUE(plugin) << plugin.error().detail;
  EXPECT_EQ(plugin->plugin().file(), second + "/core_spec_good.so");
}

TEST_F(PluginTest, AFileOfAnotherTypeAloneIsNoPlugin) {
  install("core_spec_alien", path("core_spec_good.so"));

  const Error error = refusal("core_spec/good");

  EXPECT_EQ(error.kind, Errc::not_found);
  EXPECT_THAT(error.detail, HasSubstr("plugin_type is \"proctrack/good\""));
  EXPECT_EQ(marks(), "loaded unloaded ") << "init() of a foreign plugin ran";
}

TEST_F(PluginTest, OfTwoOfOneTypeTheFirstIsUsed) {
  const std::string first = make_directory("first");
  const std::string second = make_directory("second");
  install("core_spec_twin", first + "/core_spec_good.so");
  install("core_spec_good", second + "/core_spec_good.so");

  const auto plugin =
      CoreSpecPlugin::open("core_spec/good", PluginPath("/nonexistent:" + first + ":" + second));

  ASSERT_TRUE(plugin) << plugin.error().detail;
  EXPECT_EQ(plugin->plugin().name(), "twin");
}

TEST_F(PluginTest, AllMissingFunctionsAreNamed) {
  install("core_spec_partial");

  const Error error = refusal("core_spec/partial");

  EXPECT_EQ(error.kind, Errc::unsupported);
  EXPECT_THAT(error.detail, HasSubstr("2 of 4"));
  EXPECT_THAT(error.detail, HasSubstr("core_spec_p_suspend, core_spec_p_resume"));
  EXPECT_THAT(error.detail, Not(HasSubstr("core_spec_p_set")));
  EXPECT_EQ(marks(), "loaded unloaded ") << "init() of an incomplete plugin ran";
}

TEST_F(PluginTest, AnUndefinedSymbolIsNamed) {
  install("core_spec_undefined");

  const Error error = refusal("core_spec/undefined");

  EXPECT_EQ(error.kind, Errc::unsupported);
  EXPECT_THAT(error.detail, HasSubstr("only_in_some_daemon"));
  EXPECT_EQ(marks(), "");
}

TEST_F(PluginTest, InitThatFailsGivesItsErrnoAndNoFini) {
  install("core_spec_initfail");

  const Error error = refusal("core_spec/initfail");

  EXPECT_EQ(error.kind, Errc::no_device);
  EXPECT_EQ(error.code, ENODEV);
  EXPECT_THAT(error.detail, HasSubstr("init() returned -1: No such device"));
  EXPECT_EQ(marks(), "loaded init unloaded ");
}

TEST_F(PluginTest, InitThatFailsWithoutErrnoIsSaidSo) {
  install("core_spec_initmute");

  const Error error = refusal("core_spec/initmute");

  EXPECT_NE(error.code, 0);
  EXPECT_THAT(error.detail, HasSubstr("init() returned 7 and set no errno"));
}

TEST_F(PluginTest, AVersionMayBeAbsentOnlyWhereTheDocumentSaysSo) {
  install("core_spec_twin", path("core_spec_good.so"));
  install("switch_unversioned");

  const auto core_spec = open("core_spec/good");
  const auto interconnect = SwitchPlugin::open("switch/unversioned", PluginPath(directory()));

  ASSERT_TRUE(core_spec) << core_spec.error().detail;
  EXPECT_EQ(core_spec->plugin().version(), std::nullopt);
  ASSERT_FALSE(interconnect);
  EXPECT_THAT(interconnect.error().detail, HasSubstr("plugin_version"));
}

TEST_F(PluginTest, AReleaseWithOtherCallsIsRefused) {
  install("core_spec_newer");

  EXPECT_THAT(refusal("core_spec/newer").detail, HasSubstr("0x170b00"));
}

TEST_F(PluginTest, AFileThatIsNoSharedObjectIsRefused) {
  write_file(path("core_spec_text.so"), "not an object\n");

  const Error error = refusal("core_spec/text");

  EXPECT_EQ(error.kind, Errc::unsupported);
  EXPECT_THAT(error.detail, HasSubstr("does not load"));
}

TEST_F(PluginTest, OpenFileTakesAnyTypeOfTheFamily) {
  install("core_spec_good", path("renamed.so"));
  CoreSpecFunctions functions{};

  const auto plugin = Plugin::open_file(Family::core_spec, path("renamed.so"), &functions);

  ASSERT_TRUE(plugin) << plugin.error().detail;
  EXPECT_EQ(plugin->type(), "core_spec/good");
  EXPECT_EQ(functions.set(1, 2), 2);
}

TEST_F(PluginTest, InitAndFiniAreTraced) {
  install("core_spec_good");
  auto trace = Trace::create(16);
  ASSERT_TRUE(trace);

  {
    const auto plugin = CoreSpecPlugin::open("core_spec/good", PluginPath(directory()), &*trace);
    ASSERT_TRUE(plugin) << plugin.error().detail;
  }

  const TraceSnapshot snapshot = trace->snapshot();
  ASSERT_EQ(snapshot.records.size(), 2U);
  EXPECT_STREQ(snapshot.records[0].call.data(), "init core_spec/good");
  EXPECT_STREQ(snapshot.records[1].call.data(), "fini core_spec/good");
}

TEST(PluginPathTest, SkipsEmptyEntriesAndKeepsTheOrder) {
  EXPECT_THAT(PluginPath(":/b::/a:").directories(), ::testing::ElementsAre("/b", "/a"));
  EXPECT_TRUE(PluginPath("").directories().empty());
}

}  // namespace
}  // namespace hal::host
