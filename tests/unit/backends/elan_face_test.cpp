// SPDX-License-Identifier: BSD-3-Clause
// The rows of the Elan acceptance list that only the plugin's face can show.
#include <array>
#include <cerrno>
#include <cstring>

#include "backends/elan/backend.h"
#include "tests/unit/plugins/elan_site.h"

namespace hal::test {
namespace {

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
