// SPDX-License-Identifier: BSD-3-Clause
// What the command refuses, and how: one line, a code, nothing left behind.
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;

class StepRefuse : public StepTest {
 protected:
  void expect_refused(const std::vector<std::string>& arguments, int code,
                      const std::string& reason) {
    const auto ran = run(arguments);
    EXPECT_EQ(ran.code, code) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr(reason));
    EXPECT_EQ(std::ranges::count(ran.err, '\n'), 1) << ran.err;
    EXPECT_EQ(ledger_count(), 0U);
  }
};

TEST_F(StepRefuse, WrongUse) {
  expect_refused({}, 2, "no program to run");
  expect_refused({"--no-such"}, 2, "unknown option --no-such");
  expect_refused({"-n"}, 2, "needs a value");
  expect_refused({"-n", "0", "true"}, 2, "--ntasks: '0' is not a number");
  expect_refused({"-N", "x", "true"}, 2, "--nodes");
  expect_refused({"-m", "plane", "true"}, 2, "neither block nor cyclic");
  expect_refused({"--shape", "x", "true"}, 2, "neither v0 nor late");
  expect_refused({"-N2", "-n5", "--ntasks-per-node=2", "true"}, 2, "do not fit");
}

TEST_F(StepRefuse, NodeListsThatAreNone) {
  expect_refused({"-w", "", "true"}, 2, "--nodelist");
  expect_refused({"-w", ",", "true"}, 2, "--nodelist");
  expect_refused({"-w", "n[3-1]", "true"}, 2, "--nodelist");
  expect_refused({"-w", "a,b,a", "true"}, 2, "named twice");
  expect_refused({"-w", "../x", "true"}, 2, "bad name");
  expect_refused({"-N3", "-w", "a,b", "true"}, 2, "names 2");
}

TEST_F(StepRefuse, PluginsThatAreNotThere) {
  expect_refused({"--switch", "myrinet", "true"}, 1, "switch/myrinet");
  expect_refused({"--proctrack", "switch/none", "true"}, 2, "switch/none");
  expect_refused({"--plugin-dir", dir(), "true"}, 1, "there is no switch plugin at all in");
}

TEST_F(StepRefuse, UsersThatAreNotThere) {
  expect_refused({"--uid", "no-such-user", "true"}, 2, "no user 'no-such-user'");
  expect_refused({"--gid", "no-such-group", "true"}, 2, "no group 'no-such-group'");
}

TEST_F(StepRefuse, ADirectoryThatIsNotThere) {
  for (const auto* shape : {"v0", "late"}) {
    const auto ran = run({"-N2", "-n2", "--shape", shape, "-D", dir() + "/missing", "true"});
    EXPECT_EQ(ran.code, 1) << ran.err;
    EXPECT_THAT(ran.err, HasSubstr("/missing': No such file or directory"));
    EXPECT_EQ(ledger_count(), 0U);
  }
}

TEST_F(StepRefuse, AFileOfANodeThatCannotBeOpened) {
  const auto ran = run({"-N2", "-n2", "-o", dir() + "/missing/%t", "true"});

  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, ::testing::ContainsRegex("/missing/[01]': No such file or directory"));
  EXPECT_THAT(ran.err, Not(HasSubstr("manager")));
}

TEST_F(StepRefuse, AStateDirectoryThatOthersCanChange) {
  std::filesystem::create_directory(state_dir());
  ASSERT_EQ(::chmod(state_dir().c_str(), 0777), 0);

  const auto ran = run({"true"});

  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr(state_dir()));
}

TEST_F(StepRefuse, AStateDirectoryThatIsAFile) {
  write_file(state_dir(), "");

  EXPECT_EQ(run({"true"}).code, 2);
}

TEST_F(StepRefuse, GoesOnWithADamagedCounterAndADamagedLedger) {
  ASSERT_EQ(run({"true"}).code, 0);
  write_file(state_dir() + "/jobs", "nonsense");
  write_file(state_dir() + "/ledger/77.0", "nonsense");

  const auto ran = run({"true"});

  EXPECT_EQ(ran.code, 0);
  EXPECT_THAT(ran.err, HasSubstr("ledger '77.0': damaged"));
  EXPECT_EQ(ledger_count(), 1U) << "a damaged ledger is not thrown away";
}

}  // namespace
}  // namespace backplane_test
