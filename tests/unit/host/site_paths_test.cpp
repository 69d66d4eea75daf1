// SPDX-License-Identifier: BSD-3-Clause
#include <gmock/gmock.h>
#include <unistd.h>

#include "host/site_conf.h"
#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

using SitePathsTest = test::TemporaryDirectory;

TEST_F(SitePathsTest, AFileIsRead) {
  write_file(path("slurm.conf"), "SwitchType=elan\n");

  const auto conf = SiteConf::load(path("slurm.conf"));

  ASSERT_TRUE(conf) << conf.error().detail;
  EXPECT_EQ(conf->type_of(Family::interconnect), "switch/elan");
}

TEST_F(SitePathsTest, AFileThatOthersCanWriteIsRefused) {
  write_file(path("slurm.conf"), "SwitchType=elan\n", 0664);

  const auto conf = SiteConf::load(path("slurm.conf"));

  ASSERT_FALSE(conf);
  EXPECT_EQ(conf.error().kind, Errc::no_permission);
  EXPECT_THAT(conf.error().detail, HasSubstr("chmod go-w"));
}

TEST_F(SitePathsTest, WhatIsNoFileIsRefused) {
  EXPECT_EQ(SiteConf::load(path("absent")).error().kind, Errc::not_found);
  EXPECT_FALSE(SiteConf::load(directory()));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_FALSE(SiteConf::load(path("pipe"))) << "and the call comes back";
  EXPECT_FALSE(SiteConf::load("/dev/zero"));
}

TEST_F(SitePathsTest, AnotherUsersFileIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a file away needs CAP_CHOWN";
  write_file(path("slurm.conf"), "SwitchType=elan\n");
  ASSERT_EQ(::chown(path("slurm.conf").c_str(), 65534, 65534), 0);

  EXPECT_EQ(SiteConf::load(path("slurm.conf")).error().kind, Errc::no_permission);
}

TEST_F(SitePathsTest, AMissingNamedFileIsAnErrorForACommand) {
  EXPECT_FALSE(SiteConf::load_for_command(path("absent")));
}

TEST_F(SitePathsTest, TheStateDirectoryIsMadeForItsOwnerOnly) {
  const auto made = prepare_state_directory(path("a/b/c/"));

  ASSERT_TRUE(made) << made.error().detail;
  EXPECT_EQ(*made, path("a/b/c"));
  for (const char* name : {"a", "a/b", "a/b/c"}) {
    struct stat info {};
    ASSERT_EQ(::stat(path(name).c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 07777U, 0700U) << name;
  }
  EXPECT_TRUE(prepare_state_directory(path("a/b/c"))) << "it may exist already";
}

TEST_F(SitePathsTest, AStateDirectoryOfOthersIsRefused) {
  make_directory("open", 0777);

  const auto state = prepare_state_directory(path("open/state"));

  ASSERT_FALSE(state);
  EXPECT_EQ(state.error().kind, Errc::no_permission);
  EXPECT_FALSE(std::filesystem::exists(path("open/state")));
}

TEST_F(SitePathsTest, AFileInPlaceOfTheStateDirectoryIsRefused) {
  write_file(path("file"), "");

  EXPECT_FALSE(prepare_state_directory(path("file")));
  EXPECT_FALSE(prepare_state_directory(path("file/state")));
}

TEST_F(SitePathsTest, StateOfAnOrdinaryUserIsInHisHome) {
  if (::geteuid() == 0) {
    EXPECT_EQ(SiteConf().state_save_location(), "/var/lib/backplane");
    return;
  }
  ::setenv("XDG_STATE_HOME", directory().c_str(), 1);
  EXPECT_EQ(SiteConf().state_save_location(), path("backplane"));
  ::setenv("XDG_STATE_HOME", "relative", 1);
  ::setenv("HOME", directory().c_str(), 1);
  EXPECT_EQ(SiteConf().state_save_location(), path(".local/state/backplane"));
}

TEST_F(SitePathsTest, PluginsAreLookedForBesideTheExecutable) {
  const std::string here = executable_directory();

  const std::string plugins = SiteConf().plugin_dir();

  EXPECT_EQ(plugins.front(), '/');
  EXPECT_THAT(plugins, EndsWith("/backplane/classic"));
  EXPECT_THAT(plugins, HasSubstr(here.substr(0, here.rfind('/'))));
  EXPECT_EQ(plugins.find(".."), std::string::npos);
}

TEST_F(SitePathsTest, TheNamedHalConfWins) {
  SiteConf conf;
  conf.set_hal_conf(path("my.conf"));

  const HalConfChoice choice = locate_hal_conf(conf);

  EXPECT_EQ(choice.path, path("my.conf"));
  EXPECT_FALSE(choice.is_demo);
}

TEST_F(SitePathsTest, WithoutANameTheSitesFileOrTheDemonstrationIsTaken) {
  const HalConfChoice choice = locate_hal_conf(SiteConf());

  if (choice.is_demo) {
    EXPECT_THAT(choice.path, EndsWith("/backplane/demo/hal.conf"));
    EXPECT_TRUE(std::filesystem::exists(choice.path));
  } else {
    EXPECT_EQ(choice.path, "/etc/backplane/hal.conf");
  }
}

}  // namespace
}  // namespace hal::host
