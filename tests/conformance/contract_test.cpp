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
std::map<std::string, std::set<std::string>> clauses(const std::string& text,
                                                     const std::string& prefix) {
  std::map<std::string, std::set<std::string>> found;
  const std::regex row("\\n\\| (" + prefix + R"(-\d\d) \| [^|]+ \| ([^|]+) \|)");
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
std::set<std::string> tests(const std::string& prefix) {
  std::set<std::string> found;
  const std::regex test(R"(TEST_[FP]\(\w+,\s*()" + prefix + R"(\d\d_\w+)\))");
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

struct Role {
  const char* prefix;
  std::size_t clauses;
  const char* header;
};

class ContractTest : public testing::TestWithParam<Role> {
 protected:
  const std::string prefix_ = GetParam().prefix;
  const std::map<std::string, std::set<std::string>> contract_ =
      clauses(read(BACKPLANE_SOURCE_DIR "/docs/contract.md"), prefix_);
};

TEST_P(ContractTest, EveryClauseNamesItsTestsAndEachTestItsClause) {
  std::set<std::string> named;

  for (std::size_t number = 1; number <= GetParam().clauses; ++number) {
    const std::string digits = (number < 10 ? "0" : "") + std::to_string(number);
    const auto clause = contract_.find(prefix_ + "-" + digits);
    ASSERT_NE(clause, contract_.end()) << prefix_ << "-" << digits << " is missing";
    EXPECT_FALSE(clause->second.empty()) << prefix_ << "-" << digits << " has no test";
    for (const std::string& test : clause->second) {
      if (test.starts_with("Check")) continue;  // a backend's own test, where no suite can ask
      EXPECT_TRUE(test.starts_with(prefix_ + digits + "_")) << test << " stands at " << digits;
      named.insert(test);
    }
  }

  EXPECT_EQ(contract_.size(), GetParam().clauses);
  EXPECT_THAT(tests(prefix_), ::testing::ContainerEq(named));
}

TEST_P(ContractTest, ClausesOfTheHeaderExist) {
  const std::string header = read(BACKPLANE_SOURCE_DIR "/" + std::string(GetParam().header));
  const std::regex mention("\\[(" + prefix_ + R"(-\d\d)\])");
  int mentions = 0;

  for (std::sregex_iterator m(header.begin(), header.end(), mention), end; m != end; ++m) {
    EXPECT_TRUE(contract_.contains((*m)[1])) << (*m)[1];
    ++mentions;
  }

  EXPECT_GE(mentions, 7);
}

INSTANTIATE_TEST_SUITE_P(Roles, ContractTest,
                         testing::Values(Role{"IC", 24, "hal/interconnect.h"},
                                         Role{"PA", 23, "hal/process_aggregate.h"}),
                         [](const auto& role) { return std::string(role.param.prefix); });

}  // namespace
