// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "hal/process_aggregate.h"
#include "tests/conformance/test_process.h"

namespace hal::conformance {

/// A tracker for the suite, and what it promises beyond the clauses. A promise that is not made is
/// tested too where its breach is documented: a pgid tracker must lose a process that calls setsid.
struct AggregateUnderTest {
  std::string name;
  std::function<Result<std::unique_ptr<ProcessAggregate>>()> make;
  bool several_per_manager = true;  ///< one process can manage more than one live aggregate
  bool adopts_foreign = true;       ///< takes a leader of its own session, started elsewhere
  bool holds_setsid = true;         ///< setsid and setpgid do not leave
  bool closes_on_kill = true;       ///< nothing can be added once the aggregate is being killed

  friend void PrintTo(const AggregateUnderTest& self, std::ostream* out) { *out << self.name; }
};

/// Use: INSTANTIATE_TEST_SUITE_P(Pgid, ProcessAggregateTest, testing::Values(under_test)). The test
/// process plays the manager of the step; each test must run in a process of its own (as ctest
/// does).
class ProcessAggregateTest : public testing::TestWithParam<AggregateUnderTest> {
 protected:
  static constexpr std::chrono::milliseconds kPatience{20'000};

  void SetUp() override;

  /// A record of a step that has no task yet.
  [[nodiscard]] static StepDescriptor new_step();

  /// Creates an aggregate; fails the test when that does not work.
  [[nodiscard]] ContainerId create();

  /// As the manager does with a held task: into the group of the first task, then add.
  [[nodiscard]] Result<> add_task(ContainerId id, const TestProcess& task);

  /// The members, in order.
  [[nodiscard]] std::vector<pid_t> members(ContainerId id);

  std::unique_ptr<ProcessAggregate> aggregate_;
  StepDescriptor step_;
  std::vector<int> inherited_;  ///< descriptors from whoever started the test
};

/// Fails unless `result` failed with that kind and number.
[[nodiscard]] testing::AssertionResult fails_with(const Result<>& result, Errc kind, int code);

template <class T>
[[nodiscard]] testing::AssertionResult fails_with(const Result<T>& result, Errc kind, int code) {
  if (result) return testing::AssertionFailure() << "it succeeded";
  return fails_with(Result<>(Failure(result.error())), kind, code);
}

template <class T>
[[nodiscard]] testing::AssertionResult succeeds(const Result<T>& result) {
  if (result) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().detail;
}

}  // namespace hal::conformance
