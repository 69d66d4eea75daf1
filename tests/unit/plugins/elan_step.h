// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <csignal>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/mocks/elan/mock_control.h"
#include "tests/unit/plugins/elan_site.h"

namespace hal::test {

inline constexpr const char* kQuick =
    "term_grace_ms = 20\ndestroy_wait_ms = 3000\nopen_wait_ms = 100\n";

/// Runs `body` in a child with a time limit; its value is the exit code.
template <class Body>
pid_t start(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  return child;
}

inline int exit_code(pid_t child) {
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// One node of a site, with the mock kernel behind its vendor libraries.
class ElanStep : public testing::Test {
 protected:
  void SetUp() override {
    site_.host.set_node("n0");
    auto mock = backplane_mock::ElanMock::open(site_.mock_state());
    ASSERT_TRUE(mock);
    mock_.emplace(*std::move(mock));
  }

  /// The whole order of one node, with the document's three kinds of processes. 0, or the step at
  /// which it failed.
  [[nodiscard]] int run_step(switch_jobinfo_t job, uid_t pgid_to_pass = 0) const {
    if (plugin_.job_preinit(job) != 0) return 1;
    const pid_t session = start([&] {
      if (plugin_.job_init(job, ::getuid()) != 0) return 2;
      std::vector<pid_t> tasks;
      for (std::uint32_t i = 0; i < 2; ++i)
        tasks.push_back(start([&] { return run_task(job, i); }));
      int worst = 0;
      for (const pid_t task : tasks) worst = std::max(worst, exit_code(task));
      if (plugin_.job_fini(job) != 0) return 4;
      return worst;
    });
    const int outcome = exit_code(session);
    const uid_t pgid = pgid_to_pass != 0 ? pgid_to_pass : static_cast<uid_t>(session);
    if (plugin_.job_postfini(job, pgid, 1, 0) != 0) return 5;
    return outcome;
  }

  [[nodiscard]] int run_task(switch_jobinfo_t job, std::uint32_t local_id) const {
    TestEnvironment environment({"A=1", "RMS_RANK=99"});
    if (plugin_.job_attach(job, environment.get(), 0, local_id, 1, 2, local_id) != 0) return 3;
    const auto variables = environment.variables();
    const bool kept = variables[0] == "A=1";
    const bool replaced = variables[1] == "RMS_RANK=" + std::to_string(local_id);
    const bool once = std::ranges::count_if(variables, [](const std::string& variable) {
                        return variable.starts_with("RMS_RANK=");
                      }) == 1;
    return kept && replaced && once && variables.size() > 5 ? 0 : 6;
  }

  [[nodiscard]] int calls_of(std::string_view function) const {
    const auto trace = mock_->trace();
    return static_cast<int>(
        std::ranges::count_if(trace, [&](const auto& call) { return call.function == function; }));
  }

  ElanSite site_{4, kQuick};
  std::optional<backplane_mock::ElanMock> mock_;
  SwitchPlugin plugin_{kElanPlugin};
};

/// A step that is in the middle of its life: tasks attached and waiting.
class RunningStep {
 public:
  RunningStep(const SwitchPlugin& plugin, switch_jobinfo_t job) : plugin_(plugin), job_(job) {
    if (::pipe(ready_) != 0 || ::pipe(go_) != 0) ADD_FAILURE() << "no pipe";
    manager_ = start([&] { return manage(); });
    ::close(ready_[1]);
    ::close(go_[0]);
    char byte = 0;
    EXPECT_EQ(::read(ready_[0], &byte, 1), 1) << "the step did not start";
  }
  ~RunningStep() {
    ::close(ready_[0]);
    ::close(go_[1]);
  }
  RunningStep(const RunningStep&) = delete;
  RunningStep& operator=(const RunningStep&) = delete;

  /// Lets the task end and the managers clean up. @return 0, or the step that failed.
  [[nodiscard]] int finish() {
    ::close(go_[1]);
    go_[1] = -1;
    return exit_code(manager_);
  }

 private:
  int manage() {
    ::close(ready_[0]);
    ::close(go_[1]);
    if (plugin_.job_preinit(job_) != 0) return 1;
    const pid_t session = start([&] {
      if (plugin_.job_init(job_, ::getuid()) != 0) return 2;
      TestEnvironment environment({});
      const pid_t task = start([&] {
        if (plugin_.job_attach(job_, environment.get(), 0, 0, 1, 1, 0) != 0) return 3;
        char byte = 1;
        if (::write(ready_[1], &byte, 1) != 1) return 4;
        return ::read(go_[0], &byte, 1) == 0 ? 0 : 5;
      });
      const int outcome = exit_code(task);
      return plugin_.job_fini(job_) == 0 ? outcome : 6;
    });
    const int outcome = exit_code(session);
    return plugin_.job_postfini(job_, static_cast<uid_t>(session), 1, 0) == 0 ? outcome : 7;
  }

  const SwitchPlugin& plugin_;
  switch_jobinfo_t job_;
  int ready_[2] = {-1, -1};
  int go_[2] = {-1, -1};
  pid_t manager_ = 0;
};

}  // namespace hal::test
