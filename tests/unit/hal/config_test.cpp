// SPDX-License-Identifier: BSD-3-Clause
#include "hal/config.h"

#include <cerrno>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/hal/scratch_dir.h"

namespace hal {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kSample =
    "# site\n"
    "\n"
    "[switch/elan]   ; the fabric\n"
    "librmscall = /opt/elan/librmscall.so\n"
    "rails=2\t# two cards\n"
    "  flavour =  elanctrl  \n"
    "motto = a#b;c = d\n"
    "empty =\n"
    "[proctrack/sgi_job]\n"
    "debug = Yes";

Config parsed(std::string_view text) {
  auto config = Config::parse(text, "hal.conf");
  EXPECT_TRUE(config) << config.error().detail;
  return config ? *config : Config();
}

std::string refusal(std::string_view text) {
  const auto config = Config::parse(text, "hal.conf");
  EXPECT_FALSE(config) << text;
  if (config) return {};
  EXPECT_EQ(config.error().kind, Errc::invalid_argument);
  return config.error().detail;
}

TEST(ConfigParse, SectionsKeysAndComments) {
  const Config config = parsed(kSample);
  const BackendConfig elan = config.section("switch/elan");

  EXPECT_EQ(config.sections().size(), 2U);
  EXPECT_EQ(elan.get("librmscall"), "/opt/elan/librmscall.so");
  EXPECT_EQ(elan.get("rails"), "2");
  EXPECT_EQ(elan.get("flavour"), "elanctrl");
  EXPECT_EQ(elan.get("motto"), "a#b;c = d");
  EXPECT_TRUE(elan.has("empty"));
  EXPECT_EQ(elan.get("empty", "x"), "");
  EXPECT_EQ(elan.get("absent", "x"), "x");
  EXPECT_EQ(elan.source(), "hal.conf:3");
  EXPECT_EQ(config.section("proctrack/sgi_job").get("debug"), "Yes");
}

TEST(ConfigParse, AbsentSectionIsEmpty) {
  const BackendConfig section = parsed(kSample).section("core_spec/none");

  EXPECT_TRUE(section.options().empty());
  EXPECT_EQ(section.source(), "");
  EXPECT_EQ(parsed("").sections().size(), 0U);
}

TEST(ConfigParse, RefusalsNameLineAndReason) {
  EXPECT_THAT(refusal("\nx = 1\n"), StartsWith("hal.conf:2: key 'x' stands before"));
  EXPECT_THAT(refusal("[a/b]\nx = 1\nx = 2\n"), StartsWith("hal.conf:3: key 'x' again"));
  EXPECT_THAT(refusal("[a/b]\n[c/d]\n[a/b]\n"), HasSubstr("it began at hal.conf:1"));
  EXPECT_THAT(refusal("[a/b\n"), HasSubstr("without ']'"));
  EXPECT_THAT(refusal("[\n"), HasSubstr("without ']'"));
  EXPECT_THAT(refusal("[a/b]\nhello\n"), HasSubstr("'hello' is neither"));
  EXPECT_THAT(refusal("[a/b]\n= 1\n"), HasSubstr("key ''"));
  EXPECT_THAT(refusal("[a/b]\nKey = 1\n"), HasSubstr("lower-case"));
  EXPECT_THAT(refusal("[a/b]\nx y = 1\n"), HasSubstr("key 'x y'"));
  EXPECT_THAT(refusal("[a/b]\r\n"), HasSubstr("Unix line ends"));
  EXPECT_THAT(refusal("[a/b]\nx = \x01\n"), HasSubstr("control character 1"));
  EXPECT_THAT(refusal(std::string_view("[a/b]\nx = \0\n", 12)), HasSubstr("control character 0"));
  EXPECT_THAT(refusal("[a/b]\nx = \x7f\n"), HasSubstr("control character 127"));
}

TEST(ConfigParse, SectionsAreTypeSlashMinor) {
  for (const char* header :
       {"[]", "[a]", "[/]", "[a/]", "[/b]", "[a/b/c]", "[A/b]", "[a b/c]", "[[a/b]]"}) {
    EXPECT_THAT(refusal(header), HasSubstr("hal.conf:1: section")) << header;
  }
  EXPECT_EQ(parsed("[ a/b ]").sections().count("a/b"), 1U);
}

TEST(ConfigParse, Bounds) {
  const std::string longest(4096 - 4, 'v');
  EXPECT_EQ(parsed("[a/b]\nx = " + longest).section("a/b").get("x"), longest);
  EXPECT_THAT(refusal("[a/b]\nx = " + longest + "v"), HasSubstr("hal.conf:2: longer than 4096"));
  EXPECT_THAT(refusal(std::string((std::size_t{1} << 20) + 1, '\n')), HasSubstr("larger than"));

  std::string sections;
  for (int i = 0; i < 1024; ++i) sections += "[a/s" + std::to_string(i) + "]\n";
  EXPECT_EQ(parsed(sections).sections().size(), 1024U);
  EXPECT_THAT(refusal(sections + "[a/more]"), HasSubstr("more than 1024 sections"));
}

TEST(BackendConfigTyped, Numbers) {
  const auto section =
      parsed("[a/b]\nn = 17\nneg = -1\nhex = 0x11\nblank =\nlong = 99999999999999999999\nt = 7x")
          .section("a/b");

  EXPECT_EQ(section.get_number("n", 1, 0, 100), 17U);
  EXPECT_EQ(section.get_number("n", 1, 17, 17), 17U);
  EXPECT_EQ(section.get_number("absent", 5, 10, 20), 5U);
  const auto high = section.get_number("n", 1, 18, 100);
  ASSERT_FALSE(high);
  EXPECT_EQ(high.error().kind, Errc::invalid_argument);
  EXPECT_EQ(high.error().detail, "hal.conf:1: n = 17: a number from 18 to 100 is needed");
  for (const char* key : {"neg", "hex", "blank", "long", "t"}) {
    EXPECT_FALSE(section.get_number(key, 1, 0, ~std::uint64_t{0})) << key;
  }
}

TEST(BackendConfigTyped, Flags) {
  const auto section =
      parsed("[a/b]\na = yes\nb = TRUE\nc = 1\nd = No\ne = false\nf = 0\ng = on\nh =")
          .section("a/b");

  for (const char* key : {"a", "b", "c"}) EXPECT_EQ(section.get_flag(key, false), true) << key;
  for (const char* key : {"d", "e", "f"}) EXPECT_EQ(section.get_flag(key, true), false) << key;
  EXPECT_EQ(section.get_flag("absent", true), true);
  EXPECT_THAT(section.get_flag("g", true).error().detail, HasSubstr("write yes or no"));
  EXPECT_FALSE(section.get_flag("h", true));
}

TEST(BackendConfigTyped, Paths) {
  const auto section = parsed("[a/b]\nabs = /a b/c\nrel = a/b\nblank =").section("a/b");
  const BackendConfig nul("x:1", {{"p", std::string("/a\0b", 4)}});

  EXPECT_EQ(section.get_path("abs"), "/a b/c");
  EXPECT_EQ(section.get_path("absent"), "");
  EXPECT_THAT(section.get_path("rel").error().detail, HasSubstr("an absolute path is needed"));
  EXPECT_FALSE(section.get_path("blank"));
  EXPECT_FALSE(nul.get_path("p"));
}

class ConfigLoad : public ::testing::Test {
 protected:
  Error refused(const std::string& path) {
    const auto config = Config::load(path);
    EXPECT_FALSE(config) << path;
    if (config) return {};
    EXPECT_THAT(config.error().detail, StartsWith(path));
    return config.error();
  }

  test::ScratchDir dir_;
};

TEST_F(ConfigLoad, ReadsAFile) {
  const auto config = Config::load(dir_.put("hal.conf", kSample, 0644));

  ASSERT_TRUE(config) << config.error().detail;
  EXPECT_EQ(config->section("switch/elan").get("rails"), "2");
  EXPECT_EQ(config->section("switch/elan").source(), dir_.file("hal.conf:3"));
}

TEST_F(ConfigLoad, MissingFileIsEmpty) {
  EXPECT_TRUE(Config::load(dir_.file("none"))->sections().empty());
  EXPECT_TRUE(Config::load(dir_.file("no/such"))->sections().empty());
}

TEST_F(ConfigLoad, RefusesFilesThatOthersCanWrite) {
  for (const int mode : {0620, 0602, 0666}) {
    const Error error = refused(dir_.put("hal.conf", kSample, mode));
    EXPECT_EQ(error.kind, Errc::no_permission) << std::oct << mode;
    EXPECT_THAT(error.detail, HasSubstr("chmod go-w"));
  }
}

TEST_F(ConfigLoad, RefusesAnotherOwner) {
  const std::string path = dir_.put("hal.conf", kSample);
  if (::chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "the kernel grants CAP_CHOWN to privileged users only";
  }

  const Error error = refused(path);

  EXPECT_EQ(error.kind, Errc::no_permission);
  EXPECT_THAT(error.detail, HasSubstr("owned by user 12345"));
}

TEST_F(ConfigLoad, RefusesLinks) {
  dir_.put("real", kSample);
  std::filesystem::create_symlink("real", dir_.file("hal.conf"));
  std::filesystem::create_symlink("nowhere", dir_.file("dangling"));

  EXPECT_EQ(refused(dir_.file("hal.conf")).code, ELOOP);
  EXPECT_THAT(refused(dir_.file("dangling")).detail, HasSubstr("symbolic link"));
}

TEST_F(ConfigLoad, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(::mkfifo(dir_.file("fifo").c_str(), 0600), 0);

  EXPECT_THAT(refused(dir_.file("fifo")).detail, HasSubstr("not a regular file"));
  EXPECT_THAT(refused(dir_.path()).detail, HasSubstr("not a regular file"));
  EXPECT_THAT(refused("/dev/zero").detail, HasSubstr("not a regular file"));
  EXPECT_EQ(refused(dir_.put("plain", "") + "/x").code, ENOTDIR);
}

TEST_F(ConfigLoad, RefusesAHugeFile) {
  const Error error = refused(dir_.put("hal.conf", std::string((std::size_t{1} << 20) + 1, '\n')));

  EXPECT_EQ(error.kind, Errc::invalid_argument);
  EXPECT_THAT(error.detail, HasSubstr("larger than"));
}

TEST_F(ConfigLoad, NamesTheLineOfAnError) {
  const auto config = Config::load(dir_.put("hal.conf", "[a/b]\noops\n"));

  ASSERT_FALSE(config);
  EXPECT_THAT(config.error().detail, StartsWith(dir_.file("hal.conf:2: ")));
}

}  // namespace
}  // namespace hal
