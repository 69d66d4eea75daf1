// SPDX-License-Identifier: BSD-3-Clause
#include "tests/e2e/elan_fixture.h"

#include <sstream>
#include <unistd.h>

namespace backplane_test {

void ElanStepTest::SetUp() {
  StepTest::SetUp();
  environment_.push_back("BACKPLANE_MOCK_STATE=" + dir() + "/mock.state");
  if (::geteuid() != 0) environment_.push_back("BACKPLANE_MOCK_UID=0");
}

Ran ElanStepTest::mock(const std::vector<std::string>& arguments) {
  std::vector<std::string> all{BACKPLANE_BIN_DIR "/backplane-mock", "--state",
                               dir() + "/mock.state"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return Running(all, std::nullopt, environment_).finish();
}

void ElanStepTest::expect_nothing_left() {
  const auto report = mock({"report"});
  EXPECT_EQ(report.out, "nothing is left\n");
  EXPECT_EQ(report.code, 0);
  EXPECT_EQ(ledger_count(), 0U);
}

Ran ElanStepTest::run_elan(std::vector<std::string> options, const std::string& script) {
  options.insert(options.begin(), {"--switch", "elan"});
  return run_shell(std::move(options), script);
}

std::unique_ptr<Running> ElanStepTest::start_elan(std::vector<std::string> options,
                                                  const std::string& script) {
  options.insert(options.begin(), {"--switch", "elan"});
  return start_shell(std::move(options), script);
}

std::vector<std::string> ElanStepTest::calls(const std::string& trace, const std::string& process,
                                             const std::string& prefix) {
  std::vector<std::string> found;
  std::istringstream text(trace);
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (!line.empty() && line.front() != ' ') inside = line.starts_with(process + ", pid ");
    std::istringstream words(line);
    std::string start;
    std::string took;
    std::string call;
    std::string result;
    if (!inside || !(words >> start >> took >> call >> result)) continue;
    if (call.starts_with(prefix)) found.push_back(call.substr(prefix.size()) + "=" + result);
  }
  return found;
}

}  // namespace backplane_test
