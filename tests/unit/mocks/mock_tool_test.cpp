// SPDX-License-Identifier: BSD-3-Clause
#include <cstdio>
#include <fstream>
#include <gmock/gmock.h>
#include <sstream>

#include "tests/unit/mocks/elan_mock_fixture.h"

namespace backplane_mock {
namespace {

using ::testing::HasSubstr;

class MockTool : public ElanMockTest {
 protected:
  struct Answer {
    int code;
    std::string text;
  };
  Answer run(const std::string& arguments) {
    const std::string command =
        BACKPLANE_BIN_DIR "/backplane-mock --state " + state_ + " " + arguments + " 2>&1";
    FILE* pipe = ::popen(command.c_str(), "re");
    std::string text;
    for (int c = std::fgetc(pipe); c != EOF; c = std::fgetc(pipe)) text += static_cast<char>(c);
    const int status = ::pclose(pipe);
    return {WEXITSTATUS(status), text};
  }
};

TEST_F(MockTool, ReportAnswersByExitCode) {
  EXPECT_EQ(run("report").code, 0);
  const auto owner = session(7);

  const Answer answer = run("report");

  EXPECT_EQ(answer.code, 1);
  EXPECT_EQ(answer.text, "program 7 on node 5 of uid 1000, 1 members\n");
  EXPECT_EQ(run("reset").code, 0);
  EXPECT_EQ(run("report").text, "nothing is left\n");
}

TEST_F(MockTool, RulesOptionsAndNodesReachTheLibraries) {
  EXPECT_EQ(run("inject rms_prgdestroy 1 EPERM").code, 0);
  EXPECT_EQ(run("set unknown_program_errno 17").code, 0);
  EXPECT_EQ(run("nodes login 9").code, 0);

  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), EPERM);
  EXPECT_EQ(outcome(vendor_.prgdestroy(7)), EEXIST);

  EXPECT_EQ(run("nodes").text, "login 9\n");
  EXPECT_THAT(run("options").text, HasSubstr("unknown_program_errno 17\n"));
  EXPECT_THAT(run("trace").text, HasSubstr("rms_prgdestroy(id=7) = -1 (EPERM)\n"));
  EXPECT_EQ(run("kill rms_prgcreate 1 after").code, 0);
  Child victim([&](Child&) { return vendor_.prgcreate(1, 0, 1); });
  EXPECT_EQ(victim.wait(), 128 + SIGKILL);
}

TEST_F(MockTool, MistakesAreExplained) {
  EXPECT_EQ(run("inject rms_prgdestroy one EPERM").code, 2);
  EXPECT_THAT(run("inject rms_prgdestroy 1 EWHAT").text, HasSubstr("no such errno: EWHAT"));
  EXPECT_THAT(run("set colour 1").text, HasSubstr("no such option: colour"));
  EXPECT_THAT(run("dance").text, HasSubstr("no such command: dance"));
  EXPECT_EQ(run("").code, 2);
  EXPECT_EQ(run("kill rms_prgcreate 1 during").code, 2);
}

TEST_F(MockTool, LackingVariantsLackExactlyOneSymbol) {
  const std::string directory = BACKPLANE_MOCK_DIR "/lacking";
  const Vendor lacking(directory);
  ASSERT_NE(lacking.rms, nullptr) << ::dlerror();
  ASSERT_NE(lacking.ctrl, nullptr);
  ASSERT_NE(lacking.elan3, nullptr);

  EXPECT_EQ(lacking.prgaddcap, nullptr);
  EXPECT_NE(lacking.prgcreate, nullptr);
  EXPECT_NE(lacking.setcap, nullptr);
  EXPECT_EQ(lacking.create_cap, nullptr);
  EXPECT_NE(lacking.open_control, nullptr);
  EXPECT_EQ(::dlsym(lacking.elan3, "elan3_create"), nullptr);
  EXPECT_NE(::dlsym(lacking.elan3, "elan3_control_open"), nullptr);
}

TEST_F(MockTool, DemonstrationNamesLibrariesThatExist) {
  std::ifstream file(BACKPLANE_DEMO_DIR "/hal.conf");
  std::string line;
  int paths = 0;
  while (std::getline(file, line)) {
    const std::size_t path = line.find("= /");
    if (path == std::string::npos) continue;
    ++paths;
    EXPECT_EQ(::access(line.c_str() + path + 2, R_OK), 0) << line;
  }
  EXPECT_EQ(paths, 4);
}

}  // namespace
}  // namespace backplane_mock
