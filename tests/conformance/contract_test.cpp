// SPDX-License-Identifier: BSD-3-Clause
// docs/contract.md, the interface headers and the suites speak of the same clauses.
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Rows "| IC-01 | rule | `IC01_Name`, `IC01_Other` |" of the contract: clause -> test names.
std::map<std::string, std::set<std::string>> clauses(const std::string& text) {
  std::map<std::string, std::set<std::string>> found;
  const std::regex row(R"(\n\| (IC-\d\d) \| [^|]+ \| ([^|]+) \|)");
  const std::regex name(R"(`(\w+)`)");
  for (std::sregex_iterator r(text.begin(), text.end(), row), end; r != end; ++r) {
    const std::string names = (*r)[2];
    auto& tests = found[(*r)[1]];
    for (std::sregex_iterator n(names.begin(), names.end(), name); n != end; ++n) {
      tests.insert((*n)[1]);
    }
  }
  return found;
}

/// Names of the tests in the suites.
std::set<std::string> tests() {
  std::set<std::string> found;
  const std::regex test(R"(TEST_F\(\w+,\s*(IC\d\d_\w+)\))");
  const std::filesystem::path folder = BACKPLANE_SOURCE_DIR "/tests/conformance";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".cpp") continue;
    const std::string text = read(entry.path());
    for (std::sregex_iterator t(text.begin(), text.end(), test), end; t != end; ++t) {
      found.insert((*t)[1]);
    }
  }
  return found;
}

TEST(Contract, EveryClauseNamesItsTestsAndEachTestItsClause) {
  const auto contract = clauses(read(BACKPLANE_SOURCE_DIR "/docs/contract.md"));
  std::set<std::string> named;

  for (int number = 1; number <= 24; ++number) {
    const std::string digits = (number < 10 ? "0" : "") + std::to_string(number);
    const auto clause = contract.find("IC-" + digits);
    ASSERT_NE(clause, contract.end()) << "IC-" << digits << " is missing";
    EXPECT_FALSE(clause->second.empty()) << "IC-" << digits << " has no test";
    for (const std::string& test : clause->second) {
      EXPECT_EQ(test.rfind("IC" + digits + "_", 0), 0U) << test << " stands at IC-" << digits;
      named.insert(test);
    }
  }

  EXPECT_EQ(contract.size(), 24U);
  EXPECT_THAT(tests(), ::testing::ContainerEq(named));
}

TEST(Contract, ClausesOfTheHeaderExist) {
  const auto contract = clauses(read(BACKPLANE_SOURCE_DIR "/docs/contract.md"));
  const std::string header = read(BACKPLANE_SOURCE_DIR "/hal/interconnect.h");
  const std::regex mention(R"(\[(IC-\d\d)\])");
  int mentions = 0;

  for (std::sregex_iterator m(header.begin(), header.end(), mention), end; m != end; ++m) {
    EXPECT_TRUE(contract.contains((*m)[1])) << (*m)[1];
    ++mentions;
  }

  EXPECT_GT(mentions, 10);
}

}  // namespace
