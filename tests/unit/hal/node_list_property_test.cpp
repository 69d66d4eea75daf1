// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <string>
#include <vector>

#include "hal/node_list.h"

namespace hal {
namespace {

using Names = std::vector<std::string>;

/// Names of a few letters and digits, so that neighbours often continue each other.
rc::Gen<Names> names() {
  const auto stem = rc::gen::element<std::string>("n", "m", "r1-", "", "n0", "x-y");
  const auto number =
      rc::gen::oneOf(rc::gen::map(rc::gen::inRange(0, 12), [](int n) { return std::to_string(n); }),
                     rc::gen::element<std::string>("", "00", "08", "09", "10", "99", "100", "099",
                                                   "9999999999999999999", "10000000000000000000"));
  const auto tail = rc::gen::element<std::string>("", "", "-ib0", "-ib1", "a", "7");
  const auto name = rc::gen::map(rc::gen::tuple(stem, number, tail), [](const auto& parts) {
    return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts);
  });
  return rc::gen::container<Names>(
      rc::gen::suchThat(name, [](const std::string& text) { return !text.empty(); }));
}

rc::Gen<std::string> expression() {
  const auto number =
      rc::gen::map(rc::gen::inRange(0, 30), [](int n) { return std::to_string(n); });
  const auto padded =
      rc::gen::map(rc::gen::inRange(0, 12), [](int n) { return "0" + std::to_string(n); });
  const auto range = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(0, 12), rc::gen::inRange(0, 5), rc::gen::arbitrary<bool>()),
      [](const auto& parts) {
        const auto [first, more, zero] = parts;
        return (zero ? "00" : "") + std::to_string(first) + "-" + std::to_string(first + more);
      });
  const auto bracket = rc::gen::map(
      rc::gen::resize(
          3, rc::gen::nonEmpty(rc::gen::container<Names>(rc::gen::oneOf(number, padded, range)))),
      [](const Names& parts) {
        std::string text;
        for (const auto& part : parts) text += (text.empty() ? "[" : ",") + part;
        return text + "]";
      });
  const auto piece =
      rc::gen::oneOf(bracket, rc::gen::element<std::string>("n", "m", "-ib", "1", "x2"));
  return rc::gen::map(
      rc::gen::tuple(piece, piece, rc::gen::oneOf(piece, rc::gen::just(std::string()))),
      [](const auto& p) { return std::get<0>(p) + std::get<1>(p) + std::get<2>(p); });
}

TEST(NodeListProperty, NamesComeBackThroughTheRangedForm) {
  EXPECT_TRUE(rc::check([] {
    const Names input = *names();
    const NodeList list = NodeList::from_names(input);
    RC_ASSERT(list.expand() == input);
    RC_ASSERT(list.size() == input.size());
    if (input.empty()) return;
    const auto again = NodeList::parse(list.ranged());
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->expand() == input);
  }));
}

TEST(NodeListProperty, ExpressionsComeBackThroughTheRangedForm) {
  EXPECT_TRUE(rc::check([] {
    std::string text;
    for (const auto& item :
         *rc::gen::resize(6, rc::gen::nonEmpty(rc::gen::container<Names>(expression())))) {
      text += (text.empty() ? "" : ",") + item;
    }
    const auto list = NodeList::parse(text);
    RC_ASSERT(list.has_value());
    const Names expanded = list->expand();
    RC_ASSERT(expanded.size() == list->size());
    const auto again = NodeList::parse(list->ranged());
    RC_ASSERT(again.has_value());
    RC_ASSERT(again->expand() == expanded);
    RC_ASSERT(NodeList::from_names(expanded).expand() == expanded);
  }));
}

TEST(NodeListProperty, AtAndIndexOfAgreeWithExpand) {
  EXPECT_TRUE(rc::check([] {
    const Names input = *names();
    const NodeList list = NodeList::from_names(input);
    for (std::size_t i = 0; i < input.size(); ++i) {
      RC_ASSERT(list.at(i) == input[i]);
      const auto first = std::ranges::find(input, input[i]) - input.begin();
      RC_ASSERT(list.index_of(input[i]) == static_cast<std::size_t>(first));
    }
    for (const auto& other : *names()) {
      RC_ASSERT(list.index_of(other).has_value() ==
                (std::ranges::find(input, other) != input.end()));
    }
  }));
}

TEST(NodeListProperty, RangesAddUp) {
  EXPECT_TRUE(rc::check([] {
    const NodeList list = NodeList::from_names(*names());
    std::uint64_t total = 0;
    for (const NodeList::Range& range : list.ranges()) {
      RC_ASSERT(range.numbered == (range.width > 0));
      total += range.count();
    }
    RC_ASSERT(total == list.size());
  }));
}

}  // namespace
}  // namespace hal
