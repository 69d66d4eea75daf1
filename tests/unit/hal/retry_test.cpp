// SPDX-License-Identifier: BSD-3-Clause
#include "hal/retry.h"

#include <cerrno>
#include <gtest/gtest.h>
#include <vector>

namespace hal {
namespace {

using namespace std::chrono_literals;

/// Time that passes only in wait().
class FakeClock final : public Clock {
 public:
  TimePoint now() override { return now_; }
  void wait(std::chrono::milliseconds span) override {
    pauses.push_back(span);
    now_ += span;
  }

  std::vector<std::chrono::milliseconds> pauses;

 private:
  TimePoint now_{};
};

Result<int> busy() { return fail(Errc::busy, ECHILD, "program 7 has members"); }

TEST(RetryWhileBusy, FirstAnswerThatIsNotBusy) {
  FakeClock clock;
  int calls = 0;

  const auto result = retry_while_busy({}, clock, [&] { return ++calls < 4 ? busy() : calls; });

  EXPECT_EQ(result, 4);
  EXPECT_EQ(clock.pauses, (std::vector{1ms, 2ms, 4ms}));
}

TEST(RetryWhileBusy, OtherFailuresEndIt) {
  FakeClock clock;

  const auto result = retry_while_busy(
      {}, clock, []() -> Result<int> { return fail(Errc::not_found, ESRCH, "gone"); });

  EXPECT_EQ(result.error().kind, Errc::not_found);
  EXPECT_TRUE(clock.pauses.empty());
}

TEST(RetryWhileBusy, TimesOutWithCodeAndDetail) {
  FakeClock clock;
  const RetryLimit limit{.total = 10ms, .first_pause = 1ms, .longest_pause = 4ms};

  const auto result = retry_while_busy(limit, clock, busy);

  EXPECT_EQ(result.error().kind, Errc::timed_out);
  EXPECT_EQ(result.error().code, ECHILD);
  EXPECT_EQ(result.error().detail, "program 7 has members");
  EXPECT_EQ(clock.pauses, (std::vector{1ms, 2ms, 4ms, 3ms})) << "never past the deadline";
}

TEST(RetryWhileBusy, TriesAtLeastOnce) {
  FakeClock clock;

  const auto result = retry_while_busy({.total = 0ms}, clock, [] { return Result<int>(1); });

  EXPECT_EQ(result, 1);
}

}  // namespace
}  // namespace hal
