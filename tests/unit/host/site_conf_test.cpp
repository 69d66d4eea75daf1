// SPDX-License-Identifier: BSD-3-Clause
#include "host/site_conf.h"

#include <gmock/gmock.h>

namespace hal::host {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

SiteConf parsed(const std::string& text) {
  auto conf = SiteConf::parse(text, "slurm.conf");
  EXPECT_TRUE(conf) << conf.error().detail;
  return conf ? std::move(*conf) : SiteConf();
}

TEST(SiteConfTest, DefaultsAreNoneAndProcessGroups) {
  const SiteConf conf;

  EXPECT_EQ(conf.type_of(Family::interconnect), "switch/none");
  EXPECT_EQ(conf.type_of(Family::proctrack), "proctrack/pgid");
  EXPECT_EQ(conf.type_of(Family::job_container), "job_container/none");
  EXPECT_EQ(conf.type_of(Family::core_spec), "core_spec/none");
  EXPECT_EQ(conf.type_of(Family::jobacct), "jobacct/none");
  EXPECT_EQ(conf.job_acct_location(), "/var/log/slurm_accounting.log");
  EXPECT_EQ(conf.job_acct_parameters(), "Frequency=30");
  EXPECT_EQ(conf.hal_conf(), "");
  EXPECT_EQ(conf.debug_flags(), "");
}

TEST(SiteConfTest, TakesEveryKeyInAnyCase) {
  const SiteConf conf = parsed(
      "switchtype=switch/elan\n"
      "PROCTRACKTYPE=proctrack/cgroup\n"
      "JobContainerType=tmpfs   # the major may be left out\n"
      "CoreSpecPlugin = core_spec/linux\n"
      "JobAcctType=jobacct/log JobAcctLoc=/var/acct.log\n"
      "JobAcctParameters=\"Frequency=5, Other=1\"\r\n"
      "PluginDir=/opt/a:/opt/b\n"
      "StateSaveLocation=/var/spool/state\n"
      "HalConf=/etc/hal.conf\n"
      "DebugFlags=Switch,JobContainer");

  EXPECT_EQ(conf.type_of(Family::interconnect), "switch/elan");
  EXPECT_EQ(conf.type_of(Family::proctrack), "proctrack/cgroup");
  EXPECT_EQ(conf.type_of(Family::job_container), "job_container/tmpfs");
  EXPECT_EQ(conf.type_of(Family::core_spec), "core_spec/linux");
  EXPECT_EQ(conf.type_of(Family::jobacct), "jobacct/log");
  EXPECT_EQ(conf.job_acct_location(), "/var/acct.log");
  EXPECT_EQ(conf.job_acct_parameters(), "Frequency=5, Other=1");
  EXPECT_EQ(conf.plugin_dir(), "/opt/a:/opt/b");
  EXPECT_EQ(conf.state_save_location(), "/var/spool/state");
  EXPECT_EQ(conf.hal_conf(), "/etc/hal.conf");
  EXPECT_EQ(conf.debug_flags(), "Switch,JobContainer");
  EXPECT_THAT(conf.warnings(), IsEmpty());
}

TEST(SiteConfTest, TheLastOfTwoCounts) {
  EXPECT_EQ(parsed("SwitchType=elan\nSwitchType=none\n").type_of(Family::interconnect),
            "switch/none");
}

TEST(SiteConfTest, ABackslashContinuesALine) {
  const SiteConf conf = parsed("# comment \\\nSwitchType=none\nSwitchType= \\\n  elan\n");

  EXPECT_EQ(conf.type_of(Family::interconnect), "switch/elan");
}

TEST(SiteConfTest, UnknownKeysAndIncludeAreWarnings) {
  const SiteConf conf = parsed("\nClusterName=x NodeName=n[1-4] CPUs=2\nInclude other.conf\n");

  EXPECT_THAT(conf.warnings(), ElementsAre("slurm.conf:2: unknown key ClusterName passed over",
                                           "slurm.conf:2: unknown key NodeName passed over",
                                           "slurm.conf:2: unknown key CPUs passed over",
                                           StartsWith("slurm.conf:3: Include is not supported")));
}

struct BadText {
  const char* text;
  const char* complaint;
};

class SiteConfBadTest : public ::testing::TestWithParam<BadText> {};

TEST_P(SiteConfBadTest, NamesFileLineAndCure) {
  const auto conf = SiteConf::parse(GetParam().text, "slurm.conf");

  ASSERT_FALSE(conf);
  EXPECT_EQ(conf.error().kind, Errc::invalid_argument);
  EXPECT_THAT(conf.error().detail, HasSubstr(GetParam().complaint));
}

INSTANTIATE_TEST_SUITE_P(
    All, SiteConfBadTest,
    ::testing::Values(
        BadText{"SwitchType=proctrack/pgid\n",
                "slurm.conf:1: SwitchType: \"proctrack/pgid\" is not a plugin of this family; "
                "write switch/NAME"},
        BadText{"\nSwitchType=\n", "slurm.conf:2: SwitchType: \"\" is not"},
        BadText{"SwitchType=../../tmp/evil\n", "slurm.conf:1: SwitchType: "},
        BadText{"JobContainerType=none,tmpfs\n", "a list of plugins is not supported here"},
        BadText{"PluginDir=lib\n", "slurm.conf:1: PluginDir: \"lib\" is not absolute"},
        BadText{"PluginDir=/a::/b\n", "slurm.conf:1: PluginDir: \"\" is not absolute"},
        BadText{"StateSaveLocation=state\n", "StateSaveLocation: \"state\" is not absolute"},
        BadText{"HalConf=hal.conf\n", "HalConf: \"hal.conf\" is not absolute"},
        BadText{"a word\n", "slurm.conf:1: \"a word\" is not Key=Value"},
        BadText{"=x\n", "slurm.conf:1: \"=x\" is not Key=Value"},
        BadText{"DebugFlags=\"open\n", "slurm.conf:1: DebugFlags: the closing '\"' is missing"},
        BadText{"A=1\n\nB=\x01\n", "slurm.conf:3: control character"}));

TEST(SiteConfTest, BoundsAreKept) {
  EXPECT_FALSE(SiteConf::parse("A=" + std::string(4096, 'x'), "f"));
  EXPECT_TRUE(SiteConf::parse("A=" + std::string(4000, 'x'), "f"));
  std::string continued;
  for (int i = 0; i < 5000; ++i) continued += "\\\n";
  EXPECT_FALSE(SiteConf::parse("A=" + continued, "f"));
  EXPECT_FALSE(SiteConf::parse(std::string((std::size_t{1} << 20) + 1, '\n'), "f"));
}

TEST(SiteConfTest, WarningsAreBounded) {
  std::string text;
  for (int i = 0; i < 10000; ++i) text += "Unknown=1\n";

  EXPECT_LE(parsed(text).warnings().size(), 64U);
}

TEST(SiteConfTest, ATypeCanBeChosenAfterwards) {
  SiteConf conf = parsed("SwitchType=elan\n");

  EXPECT_TRUE(conf.set_type(Family::interconnect, "federation"));
  EXPECT_FALSE(conf.set_type(Family::interconnect, "core_spec/none"));

  EXPECT_EQ(conf.type_of(Family::interconnect), "switch/federation");
}

}  // namespace
}  // namespace hal::host
