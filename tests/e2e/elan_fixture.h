// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <vector>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {

/// Steps over switch/elan on the mock vendor libraries, each test with a mock kernel of its own.
class ElanStepTest : public StepTest {
 protected:
  void SetUp() override;

  /// `backplane-mock --state ... <arguments>`.
  Ran mock(const std::vector<std::string>& arguments);

  /// The mock kernel holds nothing, and the controller's state no grant.
  void expect_nothing_left();

  /// With --switch elan and the given options.
  Ran run_elan(std::vector<std::string> options, const std::string& script);
  std::unique_ptr<Running> start_elan(std::vector<std::string> options, const std::string& script);

  /// "<process>: <call>=<result>" of every plugin call in the trace of `ran`, in order; only calls
  /// that begin with `prefix`.
  [[nodiscard]] static std::vector<std::string> calls(const std::string& trace,
                                                      const std::string& process,
                                                      const std::string& prefix);
};

}  // namespace backplane_test
