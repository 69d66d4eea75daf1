// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "hal/interconnect.h"
#include "tests/conformance/conformance.h"

namespace hal::conformance {

/// Time that passes as fast as processes can end: a wait moves this clock by the whole span.
class FastClock final : public Clock {
 public:
  [[nodiscard]] TimePoint now() override;
  void wait(std::chrono::milliseconds span) override;

 private:
  std::atomic<std::int64_t> skipped_{0};
};

class TestHost final : public Host {
 public:
  void log(LogLevel level, std::string_view message) override;
  [[nodiscard]] std::string node_name() override { return node; }
  [[nodiscard]] Clock& clock() override { return clock_; }

  std::string node;

 private:
  FastClock clock_;
};

/// Base of the interconnect suites: a clean device, the roles, and a look for leaks at the end.
class InterconnectSuite : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  /// Empty if the backend does not offer the role.
  [[nodiscard]] std::unique_ptr<InterconnectController> make_controller();
  [[nodiscard]] std::unique_ptr<InterconnectNode> make_node();

  /// The test process, and what it forks, is now on that node of the list.
  void enter_node(std::size_t index);

  [[nodiscard]] const InterconnectTraits& traits() const { return under_.interconnect; }
  [[nodiscard]] NodeList nodes() const;
  [[nodiscard]] StepLayout layout(std::size_t node_count, std::uint32_t tasks,
                                  std::size_t first_node = 0) const;

  /// Builds, and fails the test if that fails.
  [[nodiscard]] Credential build(InterconnectController& controller, std::size_t node_count = 1,
                                 std::uint32_t tasks = 1, std::size_t first_node = 0);

  /// As it came over the wire: decoded from its bytes.
  [[nodiscard]] Credential transport(const Credential& credential) const;

  /// Grants all that is free on the first node; answers how many tasks that were.
  [[nodiscard]] std::uint32_t fill(InterconnectController& controller,
                                   std::vector<Credential>* granted = nullptr);

  /// What is still left on the device when the processes that a backend ends in its own time (a
  /// watcher of a step) had time to end; empty as soon as nothing is left.
  [[nodiscard]] std::vector<std::string> lasting_leaks() const;

  /// A directory of this test.
  [[nodiscard]] std::string directory(const std::string& name);

  const BackendUnderTest& under_ = backend_under_test();
  TestHost host_;
  std::unique_ptr<CredentialCodec> codec_;
  std::string root_;
};

#define HAL_REQUIRE_TRAIT(condition, reason) \
  if (!(condition)) GTEST_SKIP() << "unsupported: " << (reason)

}  // namespace hal::conformance
