// SPDX-License-Identifier: BSD-3-Clause
// Every function of the Elan plugin with what no careful host would pass.
#include <array>
#include <cerrno>
#include <functional>
#include <random>

#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

TEST(SwitchElan, Check27_NullCredentialsDoNoHarm) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  TestBuffer buffer;
  TestEnvironment environment({"A=1"});
  std::array<char, 64> text{};
  char nodes[] = "n0";
  int out = 7;

  EXPECT_EQ(plugin.alloc_jobinfo(nullptr), -1);
  EXPECT_EQ(plugin.build_jobinfo(nullptr, nodes, 1, 0, nullptr), -1);
  EXPECT_EQ(plugin.copy_jobinfo(nullptr), nullptr);
  plugin.free_jobinfo(nullptr);
  EXPECT_GE(plugin.pack_jobinfo(nullptr, buffer.get()), 0);
  EXPECT_EQ(plugin.pack_jobinfo(nullptr, nullptr), -1);
  buffer.rewind();
  EXPECT_EQ(plugin.unpack_jobinfo(nullptr, buffer.get()), -1);
  EXPECT_EQ(buffer.processed(), 0U);
  EXPECT_EQ(plugin.get_jobinfo(nullptr, 1, &out), -1);
  EXPECT_EQ(out, 7);
  plugin.print_jobinfo(nullptr, nullptr);
  EXPECT_EQ(plugin.sprint_jobinfo(nullptr, text.data(), text.size()), text.data());
  EXPECT_EQ(plugin.job_preinit(nullptr), -1);
  EXPECT_EQ(plugin.job_init(nullptr, 0), -1);
  EXPECT_EQ(plugin.job_attach(nullptr, environment.get(), 0, 0, 1, 1, 0), -1);
  EXPECT_EQ(environment.variables(), std::vector<std::string>{"A=1"});
  EXPECT_EQ(plugin.job_fini(nullptr), 0);
  EXPECT_EQ(plugin.job_postfini(nullptr, 0, 0, 0xfffffffe), 0);
  EXPECT_EQ(plugin.job_step_complete(nullptr, nullptr), 0);
  EXPECT_EQ(plugin.job_step_part_comp(nullptr, nullptr), 0);
  EXPECT_EQ(plugin.alloc_node_info(nullptr), -1);
  EXPECT_EQ(plugin.build_node_info(nullptr), -1);
  EXPECT_EQ(plugin.unpack_node_info(nullptr, buffer.get()), -1);
  EXPECT_EQ(plugin.free_node_info(nullptr), 0);
  EXPECT_EQ(plugin.sprintf_node_info(nullptr, text.data(), text.size()), text.data());
  EXPECT_EQ(plugin.libstate_save(nullptr), -1);
  EXPECT_EQ(plugin.libstate_restore(nullptr, 0), 0);
}

/// Credentials of every stage, and one call at random on one of them.
class RandomCalls {
 public:
  RandomCalls(const ElanSite& site, const SwitchPlugin& plugin) : plugin_(plugin) {
    directory_ = site.state();
    for (auto& job : jobs_) job = plugin_.allocate();
  }
  ~RandomCalls() {
    for (auto* job : jobs_) plugin_.free_jobinfo(job);
  }
  RandomCalls(const RandomCalls&) = delete;
  RandomCalls& operator=(const RandomCalls&) = delete;

  /// Nothing here enters a program: that is for processes of their own.
  [[nodiscard]] int run(std::size_t which) {
    auto*& job = pick();
    const std::array<std::function<int()>, 17> calls{
        [&] { return plugin_.build_jobinfo(job, nodes(), tasks(), number(3) - 1, nullptr); },
        [&] { return plugin_.unpack_jobinfo(job, message_.get()); },
        [&] { return pack(job); },
        [&] { return plugin_.get_jobinfo(job, number(100) - 10, &out_); },
        [&] { return plugin_.get_data_jobinfo(job, number(100) - 10, &out_); },
        [&] { return plugin_.job_step_complete(job, nodes()); },
        [&] { return plugin_.job_step_part_comp(job, nodes()); },
        [&] { return plugin_.job_step_allocated(job, nodes()); },
        [&] { return plugin_.job_fini(job); },
        [&] { return plugin_.job_init(nullptr, static_cast<uid_t>(number(3)) - 1); },
        [&] { return plugin_.job_attach(job, nullptr, 0, 9, 1, 1, 9); },
        [&] { return plugin_.libstate_save(number(2) == 0 ? nullptr : directory_.data()); },
        [&] { return plugin_.libstate_restore(number(4) == 0 ? nullptr : directory_.data(), 1); },
        [&] { return plugin_.libstate_clear(); },
        [&] { return replace(job, plugin_.copy_jobinfo(pick())); },
        [&] { return replace(job, nullptr); },
        [&] { return plugin_.job_preinit(job); },
    };
    return calls.at(which % calls.size())();
  }

  [[nodiscard]] int number(int below) { return static_cast<int>(random_() % unsigned(below)); }

 private:
  switch_jobinfo_t& pick() { return jobs_.at(static_cast<std::size_t>(number(8))); }
  char* nodes() {
    static char texts[][16] = {"n[0-3]", "n[9-1]", "", "n63", "n[0-99]", "other"};
    return number(7) == 6 ? nullptr : texts[number(6)];
  }
  intptr_t tasks() {
    return std::array{-1, 0, 1, 8, 1 << 30}.at(static_cast<std::size_t>(number(5)));
  }
  int pack(switch_jobinfo_t job) {
    message_.rewind();
    const int size = plugin_.pack_jobinfo(job, message_.get());
    message_.rewind();
    return size > 0 ? 0 : size;  // the one function whose result is a size
  }
  int replace(switch_jobinfo_t& place, switch_jobinfo_t with) {
    plugin_.free_jobinfo(std::exchange(place, with));
    return 0;
  }

  const SwitchPlugin& plugin_;
  std::string directory_;
  std::mt19937 random_{26};
  std::array<switch_jobinfo_t, 8> jobs_{};
  TestBuffer message_{8192};
  std::array<char, 4096> out_{};
};

TEST(SwitchElan, Check26_RandomCallsGiveZeroOrMinusOne) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  {
    RandomCalls calls(site, plugin);
    std::array<int, 2> seen{};
    for (int i = 0; i < 5000; ++i) {
      const int which = calls.number(1000);
      errno = 0;
      const int result = calls.run(static_cast<std::size_t>(which));
      ASSERT_TRUE(result == 0 || result == -1) << "call " << which % 17 << " gave " << result;
      ASSERT_TRUE(result == 0 || errno > 0) << "call " << which % 17 << " failed without errno";
      ++seen.at(result == 0 ? 0 : 1);
    }
    EXPECT_GT(seen[0], 500);
    EXPECT_GT(seen[1], 500);
  }
}

}  // namespace
}  // namespace hal::test
