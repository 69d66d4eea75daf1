// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "backends/elan/device.h"
#include "tests/unit/backends/elan_fixture.h"
#include "tests/unit/mocks/elan_mock_fixture.h"

namespace hal::elan::test {

using backplane_mock::Child;
using backplane_mock::ElanMock;
using backplane_mock::TracedCall;

/// A node (q5, Elan id 5) with a mock kernel of its own; this process plays the job manager. Every
/// orphan becomes its child, so that it can wait for each process of a step without sleeping.
class ElanNodeTest : public ElanTest {
 protected:
  void SetUp() override {
    ::setenv("BACKPLANE_MOCK_STATE", directory_.file("mock").c_str(), 1);
    ::setenv("BACKPLANE_MOCK_UID", "0", 1);
    ::setenv("SLURMD_NODENAME", "q5", 1);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    mock_ = ElanMock::open(directory_.file("mock"));
    ASSERT_TRUE(mock_);
    for (const char* name : {"librmscall", "libelanctrl", "libelan3"}) {
      options_[name] = std::string(BACKPLANE_MOCK_DIR) + "/" + name + ".so";
    }
    options_["elan3_device"] = directory_.file("device0");
    options_["open_wait_ms"] = "0";
    options_["term_grace_ms"] = "20";
    host_.real_time_ = true;
    node_ = node();
    auto controller = this->controller();
    step_ = *build(*controller, "q[4-7]", 8);
    program_ = static_cast<int>(fields(step_).program);
  }

  void TearDown() override {
    node_.reset();
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }

  [[nodiscard]] std::unique_ptr<InterconnectNode> node() {
    auto made = backend.make_interconnect_node({config(), host_});
    EXPECT_TRUE(made) << made.error().detail;
    return std::move(*made);
  }

  static int code_of(const Result<>& result) { return result ? 0 : result.error().code; }

  /// Opens the context in a session manager, which stays until it is told to end.
  [[nodiscard]] std::unique_ptr<Child> session() {
    auto child = std::make_unique<Child>([&](Child& self) {
      self.tell_number(code_of(node_->open_context(step_, ::getuid())));
      self.hear();
      return 0;
    });
    opened_ = child->hear_number();
    return child;
  }

  /// As `session`, with one task that attached as local id 1 and outlives it when `ignores_term`.
  [[nodiscard]] std::unique_ptr<Child> session_with_task(bool ignores_term = false) {
    auto child = std::make_unique<Child>([&, ignores_term](Child& self) {
      const int opened = code_of(node_->open_context(step_, ::getuid()));
      const pid_t task = ::fork();
      if (task == 0) {
        if (ignores_term) ::signal(SIGTERM, SIG_IGN);
        const auto attached = node_->attach(step_, task_place(1));
        self.tell_number(opened != 0 || !attached ? -1 : ::getpid());
        while (true) ::pause();
      }
      self.hear();
      return 0;
    });
    task_ = child->hear_number();
    return child;
  }

  static TaskPlace task_place(std::uint32_t local_id) {
    return {.node_index = 1, .local_id = local_id, .node_count = 4, .task_count = 8, .rank = 3};
  }

  [[nodiscard]] std::vector<std::string> calls_of(pid_t pid) {
    std::vector<std::string> names;
    for (const TracedCall& call : mock_->trace()) {
      if (call.pid == pid) names.push_back(call.function);
    }
    return names;
  }

  [[nodiscard]] int count_calls(std::string_view function) {
    const auto trace = mock_->trace();
    return static_cast<int>(std::ranges::count(trace, function, &TracedCall::function));
  }

  /// Waits for all processes of the step that this one has inherited.
  static void reap_orphans() {
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

  void expect_nothing_left() {
    const auto left = mock_->leaks();
    EXPECT_TRUE(left.empty()) << left.front();
  }

  /// The step's capability as a task's library sees it.
  [[nodiscard]] ELAN_CAPABILITY capability(int context) const {
    ELAN_CAPABILITY native{};
    NativeCapability mine(step_, *read_capability(step_));
    std::memcpy(&native, mine.address(), sizeof native);
    native.cap_mycontext = context;
    return native;
  }

  std::optional<ElanMock> mock_;
  std::unique_ptr<InterconnectNode> node_;
  Credential step_;
  int program_ = 0;
  int opened_ = -1;  ///< code of the last open_context
  pid_t task_ = -1;
};

}  // namespace hal::elan::test
