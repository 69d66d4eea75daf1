// SPDX-License-Identifier: BSD-3-Clause
#include "backends/elan/elan_hosts.h"

#include <sys/stat.h>

#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

ElanHosts parse(std::string_view text) {
  auto hosts = ElanHosts::parse(text, "elanhosts");
  EXPECT_TRUE(hosts) << hosts.error().detail;
  return hosts.value_or(ElanHosts());
}

void expect_refused(std::string_view text, std::string_view where) {
  const auto hosts = ElanHosts::parse(text, "elanhosts");
  ASSERT_FALSE(hosts) << text.substr(0, 80);
  EXPECT_EQ(hosts.error().kind, Errc::invalid_argument);
  EXPECT_EQ(hosts.error().detail.rfind(where, 0), 0U) << hosts.error().detail;
}

std::vector<std::pair<std::uint32_t, std::uint32_t>> runs(const ElanHosts& hosts,
                                                          std::string_view nodes) {
  std::vector<NodeRun> found;
  const auto resolved = hosts.resolve(*NodeList::parse(nodes), found);
  EXPECT_TRUE(resolved) << resolved.error().detail;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> result;
  for (const NodeRun& run : found) result.emplace_back(run.first, run.count);
  return result;
}

using Runs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

TEST(ElanHostsTest, Check19_CommentsTabsAndMixedCase) {
  const ElanHosts hosts = parse(
      "# the machine\n\n  \t\nEIP\t[0-2]  q[0-2] # first\nEth [0-2]\tqe[0-2]\r\noTHER 7 console");

  EXPECT_EQ(hosts.id_of("q2"), 2U);
  EXPECT_EQ(hosts.id_of("qe1"), 1U);
  EXPECT_EQ(hosts.id_of("console"), 7U);
  EXPECT_EQ(hosts.id_of("q3"), std::nullopt);
  EXPECT_EQ(hosts.host_of(HostType::eip, 1), "q1");
  EXPECT_EQ(hosts.host_of(HostType::eth, 1), "qe1");
  EXPECT_EQ(hosts.host_of(HostType::eip, 7), std::nullopt);
  EXPECT_EQ(hosts.max_id(), 7);
}

TEST(ElanHostsTest, Check19_EmptyFileHasNoIds) {
  EXPECT_EQ(parse("").max_id(), -1);
  EXPECT_EQ(parse("# nothing\n").id_of("q0"), std::nullopt);
}

TEST(ElanHostsTest, Check19_BadLinesNameTheLine) {
  expect_refused("eip 0 q0\neip [0-2] q[0-3]\n", "elanhosts:2: 3 Elan ids for 4 host names");
  expect_refused("ib 0 q0\n", "elanhosts:1: unknown type 'ib'");
  expect_refused("eip 0\n", "elanhosts:1: ");
  expect_refused("eip 0 q0 q1\n", "elanhosts:1: ");
  expect_refused("eip x q0\n", "elanhosts:1: 'x' is not a list of Elan ids");
  expect_refused("eip 16384 q0\n", "elanhosts:1: Elan id 16384 is above 16383");
  expect_refused("eip [0-20000] q[0-20000]\n", "elanhosts:1: ");
  expect_refused("eip [0- q0\n", "elanhosts:1: ");
}

TEST(ElanHostsTest, Check19_LinesHaveAtMost4095Characters) {
  const std::string start = "eip 0 q0 #";
  const std::string longest = start + std::string(4095 - start.size(), 'x');

  EXPECT_EQ(parse(longest + "\n").id_of("q0"), 0U);
  expect_refused(longest + "x\n", "elanhosts:1: longer than 4095 characters");
}

TEST(ElanHostsTest, Check19_FirstOfDuplicateNamesWins) {
  const ElanHosts hosts = parse("eip 5 q5\neip [0-9] q[0-9]\neth [20-29] q[0-9]\neip 77 q[3]\n");

  EXPECT_EQ(hosts.id_of("q3"), 3U);
  EXPECT_EQ(runs(hosts, "q[0-9]"), (Runs{{0, 10}})) << "the parts join again";

  const ElanHosts split = parse("eip 100 q5\neip [0-9] q[0-9]\n");
  EXPECT_EQ(runs(split, "q[0-9]"), (Runs{{0, 5}, {100, 1}, {6, 4}}));
}

TEST(ElanHostsTest, RangesResolveInTheListsOrder) {
  const ElanHosts hosts = parse("eip [0-99,200-249] n[0-149]\neip 500 login\n");

  EXPECT_EQ(runs(hosts, "n[0-149]"), (Runs{{0, 100}, {200, 50}}));
  EXPECT_EQ(runs(hosts, "n[98-101],login,n3"), (Runs{{98, 2}, {200, 2}, {500, 1}, {3, 1}}));
}

// A name means the same however an expression spells it.
TEST(ElanHostsTest, SpellingOfARangeDoesNotMatter) {
  const ElanHosts hosts =
      parse("eip [0-199] n[0-199]\neip [300-309] r[08-17]\neip [400-403] a[1-2]b[1-2]\n");

  EXPECT_EQ(runs(hosts, "n1[0-9]"), (Runs{{10, 10}}));
  EXPECT_EQ(runs(hosts, "n[1-2]5"), (Runs{{15, 1}, {25, 1}}));
  EXPECT_EQ(runs(hosts, "r[08-17]"), (Runs{{300, 10}}));
  EXPECT_EQ(runs(hosts, "r[10-17]"), (Runs{{302, 8}}));
  EXPECT_EQ(runs(hosts, "a2b[1-2]"), (Runs{{402, 2}}));
  EXPECT_EQ(hosts.id_of("r8"), std::nullopt) << "r08 is another name";
  EXPECT_EQ(hosts.id_of("n010"), std::nullopt);
}

TEST(ElanHostsTest, SuffixesAndMiddleNumbers) {
  const ElanHosts hosts = parse("eip [0-9] n[0-9]-ib\neip [10-12] n[1-3]-eth0\n");

  EXPECT_EQ(runs(hosts, "n[2-4]-ib"), (Runs{{2, 3}}));
  EXPECT_EQ(runs(hosts, "n[1-3]-eth0"), (Runs{{10, 3}}));
  EXPECT_EQ(hosts.id_of("n3-eth0"), 12U);
  EXPECT_EQ(hosts.host_of(HostType::eip, 11), "n2-eth0");
}

TEST(ElanHostsTest, FirstUnknownHostIsNamed) {
  const ElanHosts hosts = parse("eip [0-9] n[0-9]\n");
  std::vector<NodeRun> found;

  const auto resolved = hosts.resolve(*NodeList::parse("n[7-12]"), found);

  ASSERT_FALSE(resolved);
  EXPECT_EQ(resolved.error().kind, Errc::not_found);
  EXPECT_EQ(resolved.error().code, kInterconnectFailure);
  EXPECT_NE(resolved.error().detail.find("'n10'"), std::string::npos) << resolved.error().detail;
}

TEST(ElanHostsTest, OnlySafeFilesAreRead) {
  const ScratchDirectory directory;
  const std::string path = directory.file("elanhosts");
  write_text(path, "eip 0 q0\n");
  ASSERT_TRUE(ElanHosts::load(path));

  ::chmod(path.c_str(), 0666);
  EXPECT_EQ(ElanHosts::load(path).error().kind, Errc::no_permission);
  EXPECT_EQ(ElanHosts::load(directory.path()).error().kind, Errc::invalid_argument);
  ASSERT_EQ(::mkfifo(directory.file("fifo").c_str(), 0600), 0);
  EXPECT_FALSE(ElanHosts::load(directory.file("fifo"))) << "and does not wait for a writer";
  EXPECT_EQ(ElanHosts::load(directory.file("absent")).error().kind, Errc::not_found);
}

}  // namespace
}  // namespace hal::elan::test
