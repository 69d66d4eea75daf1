// SPDX-License-Identifier: BSD-3-Clause
// The rows of the Elan acceptance list that only the plugin's face can show.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "backends/elan/backend.h"
#include "tests/unit/backends/elan_key_forms.h"
#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

/// What a function of the document that prints to a stream writes.
std::string printed(const SwitchPlugin& plugin, switch_jobinfo_t job) {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* stream = ::open_memstream(&text, &size);
  plugin.print_jobinfo(stream, job);
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

TEST(ElanFaceTest, Check13_PrintsAndLogsTellNoKey) {
  ElanSite site;
  std::string said;
  std::set<std::string> forms;
  {
    ElanController plugin(site);
    ASSERT_EQ(plugin.restore(), 0);
    char unknown[] = "nobody";
    char** no_variables = nullptr;
    for (int i = 0; i < 16; ++i) {
      switch_jobinfo_t job = plugin.built("n[0-1]", 2);
      std::vector<std::byte> wire = plugin.packed(job);
      forms.merge(elan::test::forms_of_key(wire));
      std::array<char, 256> line{};
      plugin.sprint_jobinfo(job, line.data(), line.size());
      said += line.data() + printed(plugin, job);

      wire[40] ^= std::byte{1};
      TestBuffer damage(wire);
      switch_jobinfo_t other = plugin.allocate();
      EXPECT_EQ(plugin.unpack_jobinfo(other, damage.get()), -1);
      EXPECT_EQ(plugin.build_jobinfo(other, unknown, 1, 0, nullptr), -1);
      EXPECT_EQ(plugin.job_attach(job, &no_variables, 0, 0, 2, 2, 0), -1);
      plugin.free_jobinfo(other);
      plugin.free_jobinfo(job);
    }
  }
  for (const std::string& line : site.host.take_log()) said += line + '\n';

  EXPECT_GT(forms.size(), 100U);
  EXPECT_NE(said.find("prg="), std::string::npos);
  EXPECT_NE(said.find("Version"), std::string::npos) << "print gave nothing";
  EXPECT_NE(said.find("nobody"), std::string::npos) << "the failures were not logged";
  EXPECT_TRUE(elan::test::found_in(said, forms).empty()) << said;
}

TEST(ElanFaceTest, Check22_ErrnoIsZeroAtFirstAndOnlyEverOurs) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  errno = 0;
  EXPECT_EQ(plugin.error_number(), 0);

  char unknown[] = "nobody";
  switch_jobinfo_t job = plugin.allocate();
  EXPECT_EQ(plugin.build_jobinfo(job, unknown, 1, 0, nullptr), -1);
  EXPECT_EQ(errno, elan::kInterconnectFailure);
  EXPECT_EQ(plugin.error_number(), 0) << "2022 is not a number of this plugin";

  const std::array<std::byte, 8> damage{};
  TestBuffer buffer(damage);
  EXPECT_EQ(plugin.unpack_jobinfo(job, buffer.get()), -1);
  EXPECT_EQ(plugin.error_number(), elan::kBadMagicJobInfo);
  plugin.free_jobinfo(job);
}

TEST(ElanFaceTest, Check22_TextsAreThePlugins) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);

  for (int code = elan::kNoSlurm; code <= elan::kInvalidProgramSignal; ++code) {
    EXPECT_STREQ(plugin.error_text(code), elan::describe_error(code));
  }
  for (const int code : {EINVAL, 2022, 2999, 3018, 3099, 3100}) {
    EXPECT_EQ(plugin.error_text(code), nullptr) << code;
  }
}

TEST(ElanFaceTest, Check23_NoKeyIsDefined) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t job = plugin.built("n[0-1]", 2);
  for (const int key : {-1, 0, 1, 1 << 30}) {
    int out = 17;
    errno = 0;
    EXPECT_EQ(plugin.get_jobinfo(job, key, &out), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(plugin.get_data_jobinfo(job, key, &out), -1);
    EXPECT_EQ(out, 17);
  }
  plugin.free_jobinfo(job);
}

TEST(ElanFaceTest, Check24_TextIsCutAndTerminatedAtEverySize) {
  const ElanSite site;
  const SwitchPlugin plugin(kElanPlugin);
  switch_jobinfo_t job = plugin.built("n[0-1]", 2);
  std::array<char, 128> whole{};
  ASSERT_EQ(plugin.sprint_jobinfo(job, whole.data(), whole.size()), whole.data());
  const std::string text = whole.data();
  ASSERT_NE(text.find("ctx=400.400 nodes=0.1"), std::string::npos) << text;

  EXPECT_EQ(plugin.sprint_jobinfo(job, whole.data(), 0), nullptr);
  for (std::size_t size = 1; size <= text.size() + 2; ++size) {
    std::array<char, 128> part;
    part.fill('#');
    ASSERT_EQ(plugin.sprint_jobinfo(job, part.data(), size), part.data());
    EXPECT_EQ(std::string(part.data()), text.substr(0, size - 1));
    EXPECT_EQ(part[size], '#') << "written past the end at size " << size;
  }
  plugin.free_jobinfo(job);
}

}  // namespace
}  // namespace hal::test
