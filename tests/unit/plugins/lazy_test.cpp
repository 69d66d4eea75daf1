// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/lazy.h"

#include <atomic>
#include <barrier>
#include <future>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <vector>

#include "plugins/fork_local.h"

namespace hal::plugin {
namespace {

Result<std::unique_ptr<int>> make_seven() { return std::make_unique<int>(7); }

int exit_code_of_child(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

TEST(Lazy, Check05_SixteenThreadsMakeOneObject) {
  constexpr int kThreads = 16;
  Lazy<int> lazy;
  std::atomic<int> made{0};
  std::barrier start(kThreads);
  std::vector<int*> seen(kThreads);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        start.arrive_and_wait();
        seen[static_cast<std::size_t>(i)] = *lazy.get([&] {
          ++made;
          return make_seven();
        });
      });
    }
  }

  EXPECT_EQ(made, 1);
  for (const int* object : seen) EXPECT_EQ(object, lazy.peek());
  lazy.reset();
}

TEST(Lazy, TriesAgainAfterAFailureAndAnException) {
  Lazy<int> lazy;

  const auto failed =
      lazy.get([]() -> Result<std::unique_ptr<int>> { return fail(Errc::busy, EBUSY, "not now"); });
  EXPECT_FALSE(failed);
  EXPECT_THROW((void)lazy.get([]() -> Result<std::unique_ptr<int>> { throw std::bad_alloc(); }),
               std::bad_alloc);

  ASSERT_TRUE(lazy.get(make_seven));
  EXPECT_EQ(*lazy.peek(), 7);
  lazy.reset();
  EXPECT_EQ(lazy.peek(), nullptr);
}

TEST(Lazy, ChildMakesItsOwnWhenTheMakerStayedInTheParent) {
  Lazy<int> lazy;
  std::promise<void> making;
  std::promise<void> go_on;
  std::jthread maker([&] {
    (void)lazy.get([&] {
      making.set_value();
      go_on.get_future().wait();
      return make_seven();
    });
  });
  making.get_future().wait();

  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    const auto object = lazy.get(make_seven);
    ::_exit(object && **object == 7 ? 0 : 1);
  }
  go_on.set_value();

  EXPECT_EQ(exit_code_of_child(child), 0);
  maker.join();
  lazy.reset();
}

TEST(ForkLocal, ChildStartsEmptyAndLeavesTheParentAlone) {
  struct Content {
    Lazy<int> object;
    int number;
  };
  ForkLocal<Content> local;
  ASSERT_TRUE(local.map());
  ASSERT_TRUE(local.get().object.get(make_seven));
  local.get().number = 5;

  const pid_t child = ::fork();
  if (child == 0) {
    const bool empty = local.get().object.peek() == nullptr && local.get().number == 0;
    local.get().number = 6;
    ::_exit(empty && local.get().number == 6 ? 0 : 1);
  }

  EXPECT_EQ(exit_code_of_child(child), 0);
  EXPECT_EQ(local.get().number, 5);
  EXPECT_EQ(*local.get().object.peek(), 7);
  local.get().object.reset();
}

}  // namespace
}  // namespace hal::plugin
