// SPDX-License-Identifier: BSD-3-Clause
#include <random>
#include <set>

#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

/// What a step holds, remembered in the most naive way.
struct Held {
  Credential credential;
  std::set<std::uint32_t> nodes;
  std::set<std::uint32_t> contexts;
};

bool meets(const std::set<std::uint32_t>& a, const std::set<std::uint32_t>& b) {
  for (const auto one : a) {
    if (b.contains(one)) return true;
  }
  return false;
}

class ElanModelTest : public ElanTest {
 protected:
  /// Would any run of `count` contexts be free on all `nodes`?
  static bool possible(const std::vector<Held>& held, const std::set<std::uint32_t>& nodes,
                       std::uint32_t count) {
    std::uint32_t run = 0;
    for (std::uint32_t context = kFirstContext; context < kFirstContext + kContextCount;
         ++context) {
      bool busy = false;
      for (const Held& step : held) {
        busy = busy || (step.contexts.contains(context) && meets(step.nodes, nodes));
      }
      run = busy ? 0 : run + 1;
      if (run == count) return true;
    }
    return false;
  }

  static std::string list_of(const std::set<std::uint32_t>& nodes) {
    std::string text;
    for (const auto node : nodes) text += "q" + std::to_string(node) + ",";
    return text;
  }

  /// Builds and compares with the oracle. @return false on a disagreement.
  static void step(InterconnectController& controller, std::vector<Held>& held,
                   const std::set<std::uint32_t>& nodes, std::uint32_t per_node) {
    const bool expected = possible(held, nodes, per_node);
    auto built =
        build(controller, list_of(nodes), per_node * static_cast<std::uint32_t>(nodes.size()));
    ASSERT_EQ(static_cast<bool>(built), expected) << list_of(nodes) << " x " << per_node << ": "
                                                  << (built ? "granted" : built.error().detail);
    if (!built) return;
    const Capability read = fields(built);
    Held now{*built, nodes, {}};
    for (auto c = read.low_context; c <= read.high_context; ++c) now.contexts.insert(c);
    ASSERT_EQ(now.contexts.size(), per_node);
    for (const Held& other : held) {
      ASSERT_FALSE(meets(now.nodes, other.nodes) && meets(now.contexts, other.contexts))
          << list_of(nodes) << " shares contexts with " << list_of(other.nodes);
    }
    held.push_back(std::move(now));
  }
};

// Every order of three steps over every set of four nodes, with contexts that fill a node.
TEST_F(ElanModelTest, Check09_EveryThreeStepsOnFourNodes) {
  const auto set_of = [](unsigned mask) {
    std::set<std::uint32_t> nodes;
    for (unsigned n = 0; n < 4; ++n) {
      if ((mask >> n & 1U) != 0) nodes.insert(n);
    }
    return nodes;
  };
  auto controller = this->controller();
  for (unsigned code = 0; code < 15 * 15 * 15; ++code) {
    ASSERT_TRUE(controller->load(std::nullopt, {}));
    std::vector<Held> held;
    for (const unsigned mask : {code % 15 + 1, code / 15 % 15 + 1, code / 225 + 1}) {
      step(*controller, held, set_of(mask), 512);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(ElanModelTest, Check09_RandomStepsAgainstTheOracle) {
  std::mt19937 random(20040312);
  const auto below = [&](std::uint32_t bound) {
    return static_cast<std::uint32_t>(random() % bound);
  };
  auto controller = this->controller();
  std::vector<Held> held;
  for (int n = 0; n < 1500; ++n) {
    if (!held.empty() && below(5) < 2) {
      const auto ended = held.begin() + below(static_cast<std::uint32_t>(held.size()));
      ASSERT_TRUE(controller->release(ended->credential));
      held.erase(ended);
      continue;
    }
    std::set<std::uint32_t> nodes{below(8)};
    while (below(3) != 0 && nodes.size() < 6) nodes.insert(below(8));
    step(*controller, held, nodes, 1 + below(400));
    if (HasFatalFailure()) return;
  }
}

TEST_F(ElanModelTest, Check09_SetsNotRangesDecide) {
  auto controller = this->controller();
  const Capability around = fields(build(*controller, "q[4,6-7]", 3 * 1023));

  const Capability inside = fields(build(*controller, "q5", 1023));

  EXPECT_EQ(inside.low_context, around.low_context) << "q5 is in the range but not in the step";
}

}  // namespace
}  // namespace hal::elan::test
