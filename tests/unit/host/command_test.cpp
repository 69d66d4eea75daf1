// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <gmock/gmock.h>
#include <memory>
#include <sys/wait.h>

#include <nlohmann/json.hpp>

#include "tests/unit/host/plugin_fixture.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

struct Outcome {
  int code = -1;
  std::string text;  ///< standard output and error
};

/// Runs the command through the shell, as a user does.
Outcome backplane(const std::string& arguments) {
  struct PipeCloser {
    void operator()(std::FILE* pipe) const noexcept { ::pclose(pipe); }
  };
  const std::string line = BACKPLANE_BIN_DIR "/backplane " + arguments + " 2>&1";
  std::unique_ptr<std::FILE, PipeCloser> pipe(::popen(line.c_str(), "re"));
  Outcome outcome;
  std::array<char, 4096> part{};
  while (const std::size_t got = std::fread(part.data(), 1, part.size(), pipe.get())) {
    outcome.text.append(part.data(), got);
  }
  outcome.code = WEXITSTATUS(::pclose(pipe.release()));
  return outcome;
}

class CommandTest : public test::TemporaryDirectory {
 protected:
  Outcome list(const std::string& options = {}) {
    return backplane("plugins --plugin-dir " + directory() + " " + options);
  }
};

TEST_F(CommandTest, VersionAndHelp) {
  EXPECT_THAT(backplane("--version").text, StartsWith("backplane "));
  EXPECT_EQ(backplane("help").code, 0);
  EXPECT_THAT(backplane("help").text, HasSubstr("plugins"));
  EXPECT_THAT(backplane("help plugins").text, HasSubstr("--plugin-dir"));
  EXPECT_EQ(backplane("help plugins").code, 0);
}

TEST_F(CommandTest, WrongUseIsTwoAndHelps) {
  EXPECT_EQ(backplane("").code, 2);
  const Outcome misspelt = backplane("plugin");
  EXPECT_EQ(misspelt.code, 2);
  EXPECT_EQ(misspelt.text, "backplane: no verb \"plugin\"; did you mean \"plugins\"?\n");
  EXPECT_EQ(backplane("help nothing").code, 2);
  const Outcome option = backplane("plugins --no-such-option");
  EXPECT_EQ(option.code, 2);
  EXPECT_THAT(option.text, HasSubstr("see \"backplane help plugins\""));
}

TEST_F(CommandTest, AnOutputThatCannotBeWrittenIsAProblem) {
  EXPECT_EQ(backplane("help > /dev/full").code, 1);
}

TEST_F(CommandTest, ListsWhatCanBeUsedAndWhyNot) {
  install("core_spec_good");
  install("core_spec_partial");

  const Outcome outcome = list();

  EXPECT_EQ(outcome.code, 0);
  EXPECT_THAT(outcome.text, HasSubstr("core_spec/good"));
  EXPECT_THAT(outcome.text, HasSubstr("no: 2 of 4 functions missing"));
  EXPECT_EQ(marks(), "") << "listing ran code of a plugin";
}

TEST_F(CommandTest, ListsAsJson) {
  install("core_spec_good");
  write_file(path("site.conf"), "CoreSpecPlugin=good\n");

  const auto json = nlohmann::json::parse(list("--json --conf " + path("site.conf")).text);

  ASSERT_EQ(json["plugins"].size(), 1U);
  EXPECT_EQ(json["plugins"][0]["type"], "core_spec/good");
  EXPECT_EQ(json["plugins"][0]["version"], 100);
  EXPECT_EQ(json["plugins"][0]["usable"], true);
  EXPECT_EQ(json["plugins"][0]["configured"], true);
}

TEST_F(CommandTest, ASecondFileOfOneTypeIsHidden) {
  const std::string second = make_directory("second");
  install("core_spec_good");
  install("core_spec_twin", second + "/core_spec_good.so");

  const Outcome outcome = backplane("plugins --plugin-dir " + directory() + ":" + second);

  EXPECT_THAT(outcome.text, HasSubstr("no: hidden by " + path("core_spec_good.so")));
}

TEST_F(CommandTest, LoadOpensForReal) {
  install("core_spec_good");
  install("core_spec_initfail");

  const Outcome outcome = list("--load");

  EXPECT_THAT(outcome.text, HasSubstr("init() returned -1: No such device"));
  EXPECT_THAT(marks(), HasSubstr("loaded init fini unloaded "));
}

TEST_F(CommandTest, NoPluginIsAProblem) {
  const Outcome outcome = list();

  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr("no plugin in " + directory()));
}

TEST_F(CommandTest, ABadSiteFileIsNamed) {
  write_file(path("site.conf"), "\nSwitchType=a/b\n");

  const Outcome outcome = backplane("plugins --conf " + path("site.conf"));

  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.text, HasSubstr(path("site.conf") + ":2: SwitchType"));
}

TEST_F(CommandTest, CheckTellsEachProblemAndItsCure) {
  install("core_spec_partial");
  install("core_spec_good");

  const Outcome bad = backplane("plugins check " + path("core_spec_partial.so"));
  const Outcome good = backplane("plugins check " + path("core_spec_good.so"));
  const Outcome absent = backplane("plugins check " + path("absent.so"));

  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.text, HasSubstr("problem: 2 of 4 functions missing"));
  EXPECT_THAT(bad.text, HasSubstr("cure: "));
  EXPECT_EQ(good.code, 0);
  EXPECT_THAT(good.text, Not(HasSubstr("problem:")));
  EXPECT_EQ(absent.code, 1);
  EXPECT_EQ(marks(), "");
}

TEST_F(CommandTest, CheckTakesARelativePath) {
  install("core_spec_good");

  const std::string line = "cd " + directory() +
                           " && " BACKPLANE_BIN_DIR
                           "/backplane plugins check core_spec_good.so > /dev/null";

  EXPECT_EQ(std::system(line.c_str()), 0);
}

}  // namespace
}  // namespace hal::host
