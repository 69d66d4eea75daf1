// SPDX-License-Identifier: BSD-3-Clause
#include <set>
#include <thread>

#include "tests/unit/backends/elan_fixture.h"

namespace hal::elan::test {
namespace {

class ElanThreadsTest : public ElanTest {};

TEST_F(ElanThreadsTest, Check02_ManyThreadsEncodeOneCredential) {
  const Credential credential = *build(*controller(), "q[4,6-7]", 5);
  const auto codec = this->codec();
  const auto expected = bytes_of(credential.wire());
  std::atomic<int> different{0};
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        for (int n = 0; n < 200; ++n) {
          if (bytes_of(codec->encode(credential)) != expected) ++different;
        }
      });
    }
  }

  EXPECT_EQ(different, 0);
}

TEST_F(ElanThreadsTest, Check25_ThreadsBuildAndReleaseAtOnce) {
  auto controller = this->controller();
  std::mutex mutex;
  std::set<std::uint32_t> programs;
  std::set<std::uint32_t> live;  // contexts of q0
  std::atomic<int> wrong{0};
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 64; ++t) {
      threads.emplace_back([&] {
        for (int n = 0; n < 50; ++n) {
          const auto step = build(*controller, "q[0,3]", 6);
          const auto read = step ? read_capability(*step) : Result<Capability>(Capability{});
          {
            const std::scoped_lock lock(mutex);
            if (!step || !programs.insert(read->program).second) ++wrong;
            for (auto c = read->low_context; c <= read->high_context; ++c) {
              if (!live.insert(c).second) ++wrong;
            }
          }
          std::this_thread::yield();
          {
            const std::scoped_lock lock(mutex);
            for (auto c = read->low_context; c <= read->high_context; ++c) live.erase(c);
          }
          if (!controller->release(*step)) ++wrong;
        }
      });
    }
  }

  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(programs.size(), 64U * 50U);
  EXPECT_TRUE(build(*controller, "q[0,3]", 2046)) << "something is still granted";
}

}  // namespace
}  // namespace hal::elan::test
