// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstring>
#include <set>

#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

constexpr std::size_t kCredentialSize = 2104;

TEST(SwitchElan, Check04_CredentialsWorkWithoutTheVendorsLibraries) {
  ElanSite site;
  site.host.set_config("[switch/elan]\nelanhosts = " + (site.host.directory() / "elanhosts") +
                       "\nlibrmscall = /nonexistent/librmscall.so\n"
                       "libelanctrl = /nonexistent/libelanctrl.so\n");
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t job = plugin.built("n[0-3]", 8);

  const auto bytes = plugin.packed(job);
  switch_jobinfo_t other = plugin.unpacked(bytes);
  switch_jobinfo_t copy = plugin.copy_jobinfo(other);
  std::array<char, 80> text{};

  EXPECT_EQ(bytes.size(), kCredentialSize);
  EXPECT_EQ(plugin.packed(copy), bytes);
  EXPECT_EQ(plugin.sprint_jobinfo(copy, text.data(), text.size()), text.data());
  for (switch_jobinfo_t each : {job, other, copy}) plugin.free_jobinfo(each);
}

TEST(SwitchElan, UnpackConsumesExactlyItsBytesAndNothingOnFailure) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t job = plugin.built("n[0-3]", 8);
  const auto bytes = plugin.packed(job);
  switch_jobinfo_t other = plugin.allocate();

  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const auto part = std::span(bytes).first(size);
    TestBuffer buffer(part);
    ASSERT_EQ(plugin.unpack_jobinfo(other, buffer.get()), -1);
    ASSERT_EQ(errno, 3002);
    ASSERT_EQ(buffer.processed(), 0U);
  }
  auto longer = bytes;
  longer.resize(longer.size() + 100);
  TestBuffer buffer(longer);
  EXPECT_EQ(plugin.unpack_jobinfo(other, buffer.get()), 0);
  EXPECT_EQ(buffer.processed(), bytes.size());
  plugin.free_jobinfo(other);
  plugin.free_jobinfo(job);
}

TEST(SwitchElan, NullAndUnbuiltCredentialsTravelAsOneForm) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t unbuilt = plugin.allocate();

  const auto bytes = plugin.packed(nullptr);

  EXPECT_EQ(plugin.packed(unbuilt), bytes);
  plugin.free_jobinfo(plugin.unpacked(bytes));
  plugin.free_jobinfo(unbuilt);
}

TEST(SwitchElan, Check25_NumbersHaveTextsOfTheirOwn) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  const std::array<std::byte, 4> damage{};
  std::set<std::string> texts;

  for (int number = 3000; number <= 3017; ++number) {
    const char* text = plugin.error_text(number);
    ASSERT_NE(text, nullptr) << number;
    EXPECT_TRUE(texts.insert(text).second) << number << " shares its text";
  }
  EXPECT_EQ(plugin.error_text(3018), nullptr);
  EXPECT_EQ(plugin.error_text(EINVAL), nullptr);
  switch_jobinfo_t job = plugin.allocate();
  TestBuffer buffer(damage);
  ASSERT_EQ(plugin.unpack_jobinfo(job, buffer.get()), -1);
  EXPECT_EQ(errno, 3002);
  EXPECT_EQ(plugin.error_number(), 3002);
  ASSERT_EQ(plugin.alloc_jobinfo(nullptr), -1);
  EXPECT_EQ(plugin.error_number(), 0) << "the last failure was none of the switch";
  plugin.free_jobinfo(job);
}

TEST(SwitchElan, Check26_IntegerFunctionsAreZeroOrMinusOne) {
  const ElanSite site;
  ElanController plugin(site);
  const std::array<std::byte, 2200> noise{std::byte{0xf0}, std::byte{0x0f}, std::byte{0xf0}};
  char bad_nodes[] = "n[9-1]";
  char nodes[] = "n[0-1]";
  int out = 0;
  std::vector<int> results;
  switch_jobinfo_t job = nullptr;
  switch_node_info_t info = nullptr;
  TestBuffer buffer(noise);
  TestEnvironment environment({});
  const auto run = [&](int result) { results.push_back(result); };

  run(plugin.alloc_jobinfo(&job));
  run(plugin.alloc_node_info(&info));
  for (int tasks : {-5, 0, 1, 1 << 30}) {
    switch_jobinfo_t other = plugin.allocate();
    run(plugin.build_jobinfo(other, nodes, tasks, 0, nullptr));
    run(plugin.build_jobinfo(other, bad_nodes, tasks, 1, nullptr));
    plugin.free_jobinfo(other);
  }
  run(plugin.unpack_jobinfo(job, buffer.get()));
  run(plugin.unpack_node_info(info, buffer.get()));
  run(plugin.build_node_info(info));
  run(plugin.get_jobinfo(job, 1, &out));
  run(plugin.job_preinit(job));
  run(plugin.job_init(job, 0));
  run(plugin.job_attach(job, environment.get(), 9, 9, 1, 1, 9));
  run(plugin.job_fini(job));
  run(plugin.job_postfini(job, 0, 1, 1));
  run(plugin.job_step_complete(job, bad_nodes));
  run(plugin.job_step_allocated(job, bad_nodes));
  run(plugin.node_init());
  run(plugin.clear_node_state());
  run(plugin.node_fini());
  run(plugin.libstate_restore(bad_nodes, 1));
  run(plugin.libstate_save(bad_nodes));
  run(plugin.libstate_clear());
  run(plugin.free_node_info(&info));
  plugin.free_jobinfo(job);

  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_TRUE(results[i] == 0 || results[i] == -1) << "call " << i << " gave " << results[i];
  }
}

TEST(SwitchElan, Check30_TheKeyNeverAppearsInTextsOrLogs) {
  const ElanSite site;
  ElanController plugin(site);
  ASSERT_EQ(plugin.restore(), 0);
  switch_jobinfo_t job = plugin.built("n[0-3]", 8);
  const auto bytes = plugin.packed(job);
  std::array<char, 4096> text{};
  std::string all(plugin.sprint_jobinfo(job, text.data(), text.size()));
  char* printed = nullptr;
  std::size_t size = 0;
  FILE* memory = ::open_memstream(&printed, &size);

  plugin.print_jobinfo(memory, job);
  auto damaged = bytes;
  damaged[0] = std::byte{0};
  TestBuffer buffer(damaged);
  switch_jobinfo_t other = plugin.allocate();
  EXPECT_EQ(plugin.unpack_jobinfo(other, buffer.get()), -1);

  std::fclose(memory);
  all += printed;
  std::free(printed);
  for (const auto& line : TestHost::take_log()) all += line;
  EXPECT_GT(all.size(), 40U);
  for (std::size_t word = 0; word < 4; ++word) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      value = value << 8 | std::to_integer<std::uint32_t>(bytes[8 + word * 4 + i]);
    }
    std::array<char, 16> hex{};
    std::snprintf(hex.data(), hex.size(), "%x", value);
    EXPECT_EQ(all.find(hex.data()), std::string::npos) << "key word " << word;
    EXPECT_EQ(all.find(std::to_string(value)), std::string::npos) << "key word " << word;
  }
  plugin.free_jobinfo(other);
  plugin.free_jobinfo(job);
}

}  // namespace
}  // namespace hal::test
