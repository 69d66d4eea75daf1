// SPDX-License-Identifier: BSD-3-Clause
#include "hal/node_list.h"

#include <cerrno>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <vector>

namespace hal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Names = std::vector<std::string>;

NodeList parsed(std::string_view text) {
  auto list = NodeList::parse(text);
  EXPECT_TRUE(list) << text << ": " << list.error().detail;
  return list ? *list : NodeList();
}

Names expanded(std::string_view text) { return parsed(text).expand(); }

std::string ranged(const Names& names) { return NodeList::from_names(names).ranged(); }

Error refusal(std::string_view text, const NodeList::Limits& limits = {}) {
  auto list = NodeList::parse(text, limits);
  EXPECT_FALSE(list) << text;
  return list ? Error{} : list.error();
}

TEST(NodeListParse, SingleNames) {
  EXPECT_EQ(expanded("n1"), Names{"n1"});
  EXPECT_EQ(expanded("login"), Names{"login"});
  EXPECT_EQ(expanded("n007"), Names{"n007"});
  EXPECT_EQ(expanded("r1-n2-mgmt"), Names{"r1-n2-mgmt"});
  EXPECT_EQ(expanded("42"), Names{"42"});
}

TEST(NodeListParse, KeepsOrderAndDuplicates) {
  EXPECT_EQ(expanded("b2,a,b1,a"), (Names{"b2", "a", "b1", "a"}));
  EXPECT_EQ(expanded("n[7,1-2,7]"), (Names{"n7", "n1", "n2", "n7"}));
}

TEST(NodeListParse, SeparatorsAndEmptyItems) {
  EXPECT_EQ(expanded(",a,,b ,\t c,"), (Names{"a", "b", "c"}));
  EXPECT_EQ(expanded("n[1,,2,]"), (Names{"n1", "n2"}));
}

TEST(NodeListParse, PaddingFollowsTheFirstNumber) {
  EXPECT_EQ(expanded("n[08-11]"), (Names{"n08", "n09", "n10", "n11"}));
  EXPECT_EQ(expanded("n[9-11]"), (Names{"n9", "n10", "n11"}));
  EXPECT_EQ(expanded("n[098-101]"), (Names{"n098", "n099", "n100", "n101"}));
  EXPECT_EQ(expanded("n[1,07,007]"), (Names{"n1", "n07", "n007"}));
  EXPECT_EQ(expanded("n[00-01]"), (Names{"n00", "n01"}));
  EXPECT_EQ(expanded("n[0-1]"), (Names{"n0", "n1"}));
}

TEST(NodeListParse, SuffixesAndSeveralBrackets) {
  EXPECT_EQ(expanded("n[1-2]-ib0"), (Names{"n1-ib0", "n2-ib0"}));
  EXPECT_EQ(expanded("n[1-2]-ib[0-1]"), (Names{"n1-ib0", "n1-ib1", "n2-ib0", "n2-ib1"}));
  EXPECT_EQ(expanded("r[1-2]n[0,3]x"), (Names{"r1n0x", "r1n3x", "r2n0x", "r2n3x"}));
  EXPECT_EQ(expanded("a[1-2]b[03]c"), (Names{"a1b03c", "a2b03c"}));
  EXPECT_EQ(expanded("[1-2][0-1]"), (Names{"10", "11", "20", "21"}));
}

TEST(NodeListParse, BracketsInBracketsGroup) {
  EXPECT_EQ(expanded("n[1,[3-5]]"), (Names{"n1", "n3", "n4", "n5"}));
  EXPECT_EQ(expanded("n[[1,[2]],[[3]]]"), (Names{"n1", "n2", "n3"}));
}

TEST(NodeListParse, LastBracketOfOneNumberIsText) {
  const NodeList list = parsed("r[0-999]n[0-99]x[0]y[00]");

  EXPECT_EQ(list.size(), 100'000U);
  EXPECT_EQ(list.ranges().size(), 1000U);
  EXPECT_EQ(list.at(99'999), "r999n99x0y00");
}

TEST(NodeListParse, HugeRangeCostsOneEntry) {
  const NodeList list = parsed("n[0-99999]");

  EXPECT_EQ(list.size(), 100'000U);
  EXPECT_EQ(list.ranges().size(), 1U);
  EXPECT_EQ(list.at(99'999), "n99999");
}

TEST(NodeListParse, AdjacentPiecesBecomeOneRange) {
  EXPECT_EQ(parsed("n[1,2,3-5]").ranges().size(), 1U);
  EXPECT_EQ(parsed("n1,n2,n[3-5]").ranged(), "n[1-5]");
  EXPECT_EQ(parsed("n[08-09],n10").ranged(), "n[08-10]");
  EXPECT_EQ(parsed("n[8-9],n010").ranged(), "n[8-9,010]");
}

TEST(NodeListParse, RefusesMalformedText) {
  for (const char* text : {"n[",      "n[1",     "n[1-",  "n[1-3",  "n]",      "n[]",      "n[,]",
                           "n[a]",    "n[1-a]",  "n[-3]", "n[3-1]", "n[1--3]", "n[1-2-3]", "n[1 2]",
                           "n[1[2]]", "n[[1]2]", "n[1]]", "n[[1]",  "n[0x1]",  "n[+1]",    "a\nb",
                           "a\x7f",   "",        ",",     " ,\t,"}) {
    const Error error = refusal(text);
    EXPECT_EQ(error.kind, Errc::invalid_argument) << text;
    EXPECT_EQ(error.code, EINVAL) << text;
    EXPECT_THAT(error.detail, HasSubstr("node list")) << text;
  }
}

TEST(NodeListParse, NamesTheOffset) {
  EXPECT_THAT(refusal("abc,n[5-3]").detail, HasSubstr("offset 9: range runs backward"));
  EXPECT_THAT(refusal("n[1-").detail, HasSubstr("offset 4"));
}

TEST(NodeListParse, RefusesNulByte) {
  using namespace std::string_view_literals;
  EXPECT_EQ(refusal("a\0b"sv).kind, Errc::invalid_argument);
  EXPECT_EQ(refusal("n[1\0]"sv).kind, Errc::invalid_argument);
}

TEST(NodeListParse, NumbersOfMoreThan19Digits) {
  EXPECT_THAT(refusal("n[12345678901234567890]").detail, HasSubstr("20 digits"));
  EXPECT_THAT(refusal("n[0-99999999999999999999999999]").detail, HasSubstr("26 digits"));
  EXPECT_EQ(expanded("n[9999999999999999999]"), Names{"n9999999999999999999"});
  EXPECT_EQ(expanded("n12345678901234567890"), Names{"n12345678901234567890"});
}

TEST(NodeListParse, LimitsComeBeforeMemory) {
  for (const char* text :
       {"n[0-999999999999]", "n[0-9999999999999999999]", "n[0-1048576]", "n[0-1048575],x",
        "n[0-99999]m[0-99999]", "n[0-99][0-99][0-99][0-99]", "n[0-1023]m[0-1023],x"}) {
    const Error error = refusal(text);
    EXPECT_EQ(error.kind, Errc::exhausted) << text;
    EXPECT_NE(error.code, 0) << text;
  }
  EXPECT_EQ(parsed("n[0-1048575]").size(), std::size_t{1} << 20);
}

TEST(NodeListParse, ProductThatWrapsAround64Bits) {
  std::string text = "n";
  for (int i = 0; i < 64; ++i) text += "[0-1]";

  EXPECT_EQ(refusal(text).kind, Errc::exhausted);
}

TEST(NodeListParse, LimitsOfTextAndName) {
  EXPECT_EQ(refusal(std::string((std::size_t{4} << 20) + 1, 'a')).kind, Errc::exhausted);
  EXPECT_EQ(refusal(std::string(256, 'a')).kind, Errc::exhausted);
  EXPECT_EQ(parsed(std::string(255, 'a')).size(), 1U);
  EXPECT_EQ(refusal(std::string(254, 'a') + "[9-10]").kind, Errc::exhausted);
  EXPECT_EQ(refusal(std::string(254, 'a') + "[0]b").kind, Errc::exhausted);
  EXPECT_EQ(parsed(std::string(254, 'a') + "[0-9]").size(), 10U);
  EXPECT_EQ(refusal("a,b,c", {.max_nodes = 2}).kind, Errc::exhausted);
  EXPECT_EQ(refusal("n[0-2]", {.max_nodes = 2}).kind, Errc::exhausted);
  EXPECT_EQ(refusal("abc", {.max_text = 2}).kind, Errc::exhausted);
}

TEST(NodeListParse, EndlessBracketsEndAtTheNameLimit) {
  std::string text = "n";
  for (int i = 0; i < 100'000; ++i) text += "[1]";

  EXPECT_EQ(refusal(text).kind, Errc::exhausted);
}

TEST(NodeListFromNames, MergesRanges) {
  EXPECT_EQ(ranged({"n1", "n2", "n3", "n7", "x"}), "n[1-3,7],x");
  EXPECT_EQ(ranged({"n08", "n09", "n10", "n11"}), "n[08-11]");
  EXPECT_EQ(ranged({"n9", "n10"}), "n[9-10]");
  EXPECT_EQ(ranged({"n99", "n100"}), "n[99-100]");
  EXPECT_EQ(ranged({"n1-ib0", "n2-ib0", "n3-ib0"}), "n[1-3]-ib0");
  EXPECT_EQ(ranged({"n1-ib0", "n1-ib1", "n2-ib0"}), "n1-ib[0-1],n2-ib0");
  EXPECT_EQ(ranged({"n09-x1", "n10-x1"}), "n[09-10]-x1");
}

TEST(NodeListFromNames, KeepsWhatDoesNotMerge) {
  EXPECT_EQ(ranged({"n3", "n2", "n2"}), "n[3,2,2]");
  EXPECT_EQ(ranged({"n1", "n02"}), "n[1,02]");
  EXPECT_EQ(ranged({"a", "b"}), "a,b");
  EXPECT_EQ(ranged({"n9999999999999999999", "n10000000000000000000"}),
            "n9999999999999999999,n10000000000000000000");
  EXPECT_EQ(ranged({}), "");
  EXPECT_EQ(ranged({"", "a", ""}), "a");
}

TEST(NodeListFromNames, NextNumberWithALongerTail) {
  EXPECT_EQ(ranged({"m1", "m2-"}), "m1,m2-");
  EXPECT_EQ(ranged({"m9x1", "m10x1"}), "m[9-10]x1");
  EXPECT_EQ(ranged({"m9x1", "m10x"}), "m9x1,m10x");
}

TEST(NodeListFromNames, ExpandsToTheSameNames) {
  const Names names{"n1-ib0", "n2-ib0", "n2-ib1", "n3", "n4", "n004", "n5", "login", "9", "10"};

  const NodeList list = NodeList::from_names(names);

  EXPECT_EQ(list.expand(), names);
  EXPECT_EQ(expanded(list.ranged()), names);
}

TEST(NodeListAccess, AtAndIndexOf) {
  const NodeList list = parsed("a,n[08-11],r[1-2]n[0-1]-x,n9");
  const Names names = list.expand();

  ASSERT_EQ(list.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(list.at(i), names[i]);
    EXPECT_EQ(list.index_of(names[i]), i) << names[i];
  }
}

TEST(NodeListAccess, IndexOfRefusesNearMisses) {
  const NodeList list = parsed("n[08-11],m[1-3]-ib0");
  for (const char* name : {"n8", "n008", "n12", "n", "", "n1x", "m1", "m01-ib0", "m4-ib0", "m-ib0",
                           "n99999999999999999999", "-ib0", "n-1", "n+8"}) {
    EXPECT_EQ(list.index_of(name), std::nullopt) << name;
  }
}

TEST(NodeListAccess, IndexOfFindsTheFirstAndAnySplit) {
  EXPECT_EQ(parsed("n[1-3],n2").index_of("n2"), 1U);
  EXPECT_EQ(parsed("n[1-3]5").index_of("n25"), 1U);
  EXPECT_EQ(parsed("n1[0-9]").index_of("n15"), 5U);
}

TEST(NodeListAccess, EmptyList) {
  const NodeList list;

  EXPECT_TRUE(list.empty());
  EXPECT_TRUE(list.expand().empty());
  EXPECT_EQ(list.ranged(), "");
  EXPECT_EQ(list.index_of("n1"), std::nullopt);
}

}  // namespace
}  // namespace hal
