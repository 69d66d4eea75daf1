// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include "tests/conformance/interconnect_suite.h"
#include "tests/conformance/step_process.h"

namespace hal::conformance {

/// Base of the node suites: the test process is the job manager of the first node.
class InterconnectNodeSuite : public InterconnectSuite {
 protected:
  void SetUp() override {
    InterconnectSuite::SetUp();
    controller_ = make_controller();
    node_ = make_node();
    HAL_REQUIRE_TRAIT(controller_ && node_, "no controller role or no node role");
    ASSERT_TRUE(controller_->load(std::nullopt, {}));
  }
  void TearDown() override {
    node_.reset();
    controller_.reset();
    InterconnectSuite::TearDown();
  }

  /// A credential for `tasks` tasks on the first node, as the node received it.
  [[nodiscard]] Credential credential(std::uint32_t tasks = 2) {
    return transport(build(*controller_, 1, tasks));
  }

  [[nodiscard]] static TaskPlace place(std::uint32_t rank, std::uint32_t tasks = 2) {
    return {.node_index = 0, .local_id = rank, .node_count = 1, .task_count = tasks, .rank = rank};
  }

  [[nodiscard]] Result<> destroy(const Credential& credential) {
    return node_->destroy_context(credential, {JobId{1}, StepId{0}, 0});
  }

  void expect_destroyed(const Credential& credential) {
    const auto destroyed = destroy(credential);
    EXPECT_TRUE(destroyed) << destroyed.error().detail;
  }

  std::unique_ptr<InterconnectController> controller_;
  std::unique_ptr<InterconnectNode> node_;
};

#define HAL_ASSERT_OK(outcome)                          \
  do {                                                  \
    const ::hal::conformance::Outcome done = (outcome); \
    ASSERT_TRUE(done.ok) << done.detail;                \
  } while (false)

}  // namespace hal::conformance
