// SPDX-License-Identifier: BSD-3-Clause
#include "host/safe_path.h"

#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/plugin.h"
#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;

constexpr uid_t kNobody = 65534;

class SafePathTest : public test::TemporaryDirectory {
 protected:
  /// Opens the good plugin out of `where`, which must be refused before any of its code runs.
  void expect_refused(const std::string& where, const std::string& because) const {
    const auto plugin = CoreSpecPlugin::open("core_spec/good", PluginPath(where));
    ASSERT_FALSE(plugin) << "opened from an unsafe path";
    EXPECT_EQ(plugin.error().kind, Errc::no_permission) << plugin.error().detail;
    EXPECT_THAT(plugin.error().detail, HasSubstr(because));
    EXPECT_EQ(marks(), "") << "code of the refused file ran";
  }
};

TEST_F(SafePathTest, ASafeOneIsOpenedWithItsConstructor) {
  install("core_spec_good");

  const auto plugin = CoreSpecPlugin::open("core_spec/good", PluginPath(directory()));

  ASSERT_TRUE(plugin) << plugin.error().detail;
  EXPECT_EQ(marks(), "loaded init ");
}

TEST_F(SafePathTest, AFileThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0757U, 0775U, 0666U}) {
    const std::string target = path("core_spec_good.so");
    install("core_spec_good", target, mode);

    expect_refused(directory(), "chmod go-w '" + target + "'");

    std::filesystem::remove(target);
  }
}

TEST_F(SafePathTest, ADirectoryThatOthersCanWriteIsRefused) {
  for (const mode_t mode : {0777U, 0775U, 01777U}) {
    const std::string plugins = make_directory("plugins");
    install("core_spec_good", plugins + "/core_spec_good.so");
    ASSERT_EQ(::chmod(plugins.c_str(), mode), 0);

    expect_refused(plugins, "chmod go-w '" + plugins + "'");

    std::filesystem::remove_all(plugins);
  }
}

TEST_F(SafePathTest, ADirectoryOnTheWayThatOthersCanWriteIsRefused) {
  const std::string plugins = make_directory("open/plugins");
  install("core_spec_good", plugins + "/core_spec_good.so");
  ASSERT_EQ(::chmod(path("open").c_str(), 0777), 0);

  expect_refused(plugins, "chmod go-w '" + path("open") + "'");
}

TEST_F(SafePathTest, ALinkInPlaceOfTheFileIsRefused) {
  install("core_spec_good", path("real.so"));
  std::filesystem::create_symlink("real.so", path("core_spec_good.so"));

  expect_refused(directory(), "is a link");
}

TEST_F(SafePathTest, ALinkToASafeDirectoryIsFollowed) {
  const std::string plugins = make_directory("plugins");
  install("core_spec_good", plugins + "/core_spec_good.so");
  std::filesystem::create_symlink("plugins/../plugins/.", path("relative"));
  std::filesystem::create_symlink(plugins, path("absolute"));

  for (const char* link : {"relative", "absolute"}) {
    const auto opened = open_safe_directory(path(link));
    ASSERT_TRUE(opened) << opened.error().detail;
    EXPECT_EQ(opened->path, plugins);
  }
}

TEST_F(SafePathTest, ALinkToAnUnsafeDirectoryIsRefused) {
  const std::string plugins = make_directory("plugins");
  install("core_spec_good", plugins + "/core_spec_good.so");
  ASSERT_EQ(::chmod(plugins.c_str(), 0777), 0);
  std::filesystem::create_symlink(plugins, path("link"));

  expect_refused(path("link"), "can be changed by other users");
}

TEST_F(SafePathTest, LinksInACircleEnd) {
  std::filesystem::create_symlink("b", path("a"));
  std::filesystem::create_symlink("a", path("b"));

  const auto opened = open_safe_directory(path("a"));

  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, ELOOP);
}

TEST_F(SafePathTest, APipeInPlaceOfTheFileDoesNotHoldTheProcess) {
  ASSERT_EQ(::mkfifo(path("core_spec_good.so").c_str(), 0644), 0);

  expect_refused(directory(), "not a regular file");
}

TEST_F(SafePathTest, AnotherUsersFileDirectoryOrLinkIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "giving a file away needs CAP_CHOWN";
  const std::string plugins = make_directory("plugins");
  const std::string file = plugins + "/core_spec_good.so";
  install("core_spec_good", file);
  std::filesystem::create_symlink(plugins, path("link"));

  ASSERT_EQ(::chown(file.c_str(), kNobody, kNobody), 0);
  expect_refused(plugins, file + ": belongs to user 65534");
  ASSERT_EQ(::chown(file.c_str(), 0, 0), 0);
  ASSERT_EQ(::chown(plugins.c_str(), kNobody, kNobody), 0);
  expect_refused(plugins, plugins + ": belongs to user 65534");
  ASSERT_EQ(::chown(plugins.c_str(), 0, 0), 0);
  ASSERT_EQ(::lchown(path("link").c_str(), kNobody, kNobody), 0);
  expect_refused(path("link"), path("link") + ": belongs to user 65534");
}

TEST_F(SafePathTest, AnOrdinaryUserTrustsRootAndHimself) {
  if (::geteuid() != 0) GTEST_SKIP() << "becoming another user needs CAP_SETUID";
  const std::string of_root = make_directory("root");
  const std::string of_user = make_directory("user");
  const std::string of_other = make_directory("other");
  ASSERT_EQ(::chmod(directory().c_str(), 0755), 0);
  ASSERT_EQ(::chown(of_user.c_str(), kNobody, kNobody), 0);
  ASSERT_EQ(::chown(of_other.c_str(), 1, 1), 0);

  const pid_t child = ::fork();
  if (child == 0) {
    const bool right =
        ::setresuid(kNobody, kNobody, kNobody) == 0 && open_safe_directory(of_root).has_value() &&
        open_safe_directory(of_user).has_value() && !open_safe_directory(of_other).has_value();
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);

  EXPECT_EQ(status, 0);
}

TEST_F(SafePathTest, OnlyAbsolutePathsAndPlainNamesAreTaken) {
  const auto safe = open_safe_directory(directory());
  ASSERT_TRUE(safe) << safe.error().detail;

  for (const char* path : {"", "relative", "./x"}) EXPECT_FALSE(open_safe_directory(path)) << path;
  EXPECT_FALSE(open_safe_directory(std::string_view("/tmp\0/x", 7)));
  for (const char* name : {"", "../x", "a/b"}) EXPECT_FALSE(open_safe_file(*safe, name)) << name;
}

TEST_F(SafePathTest, AStickyDirectoryServesAsAParentOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "a sticky directory of root's needs CAP_CHOWN";
  const std::string sticky = make_directory("sticky", 01777);

  EXPECT_FALSE(open_safe_directory(sticky));
  EXPECT_TRUE(open_parent_directory(sticky));
}

}  // namespace
}  // namespace hal::host
