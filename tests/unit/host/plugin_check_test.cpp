// SPDX-License-Identifier: BSD-3-Clause
#include "host/plugin_check.h"

#include <gmock/gmock.h>

#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class PluginCheckTest : public test::TemporaryDirectory {
 protected:
  PluginReport inspect(const std::string& file) {
    auto report = inspect_plugin(file, libraries_);
    EXPECT_TRUE(report) << report.error().detail;
    EXPECT_EQ(marks(), "") << "code of an inspected file ran";
    return report ? std::move(*report) : PluginReport{};
  }

  PluginReport inspect_fixture(const std::string& name) {
    install(name);
    return inspect(path(name + ".so"));
  }

  SystemLibraries libraries_;
};

TEST_F(PluginCheckTest, ASoundPluginHasNoFinding) {
  const PluginReport report = inspect_fixture("core_spec_good");

  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_TRUE(report.usable());
  EXPECT_EQ(report.type, "core_spec/good");
  EXPECT_EQ(report.face, "classic");
  EXPECT_EQ(report.version, 100U);
}

TEST_F(PluginCheckTest, MissingFunctionsAreListed) {
  const PluginReport report = inspect_fixture("core_spec_partial");

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].what, HasSubstr("core_spec_p_suspend, core_spec_p_resume"));
  EXPECT_FALSE(report.usable());
}

TEST_F(PluginCheckTest, ExtraExportsAreListed) {
  const PluginReport report = inspect_fixture("core_spec_extra");

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].what, HasSubstr("not_of_this_api"));
}

TEST_F(PluginCheckTest, SymbolsOfSomeDaemonAreListed) {
  const PluginReport report = inspect_fixture("core_spec_undefined");

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].what, HasSubstr("only_in_some_daemon"));
}

TEST_F(PluginCheckTest, AnUnsafeFileIsReportedAndStillRead) {
  install("core_spec_good", path("core_spec_good.so"), 0777);

  const PluginReport report = inspect(path("core_spec_good.so"));

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_THAT(report.findings[0].what, HasSubstr("mode 0777"));
  EXPECT_THAT(report.findings[0].cure, HasSubstr("chmod go-w"));
  EXPECT_EQ(report.name, "good");
}

TEST_F(PluginCheckTest, AFileThatNobodyWouldFindIsReported) {
  install("core_spec_good", path("core_spec_best.so"));

  const PluginReport report = inspect(path("core_spec_best.so"));

  ASSERT_THAT(report.findings, SizeIs(1));
  EXPECT_EQ(report.findings[0].cure, "name it core_spec_good.so");
}

TEST_F(PluginCheckTest, WrongVersionsAreReported) {
  EXPECT_THAT(inspect_fixture("core_spec_newer").findings[0].what, HasSubstr("23.11.0"));
  EXPECT_THAT(inspect_fixture("switch_unversioned").findings[0].what,
              HasSubstr("no number constant plugin_version"));
}

TEST_F(PluginCheckTest, AnythingElseIsNoPlugin) {
  write_file(path("text.so"), "no object\n");

  EXPECT_FALSE(inspect(path("text.so")).usable());
  EXPECT_FALSE(inspect_plugin(path("absent.so"), libraries_));
}

TEST_F(PluginCheckTest, EveryFileThatTheCheckPassesIsOneThatTheLoaderOpens) {
  std::size_t usable = 0;
  for (const auto& entry : std::filesystem::directory_iterator(LOADER_FIXTURE_DIR)) {
    const std::string name = entry.path().filename().string();
    install(entry.path().stem().string());
    auto report = inspect_plugin(path(name), libraries_);
    ASSERT_TRUE(report) << report.error().detail;
    if (report->usable()) ++usable;
  }
  EXPECT_EQ(usable, 4U) << "core_spec good, initfail and initmute, switch full";
}

TEST(VersionTextTest, DocumentsCountAndReleasesHaveThreeParts) {
  EXPECT_EQ(version_text(91), "91");
  EXPECT_EQ(version_text(0x160508), "22.05.8");
}

}  // namespace
}  // namespace hal::host
