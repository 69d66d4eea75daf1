// SPDX-License-Identifier: BSD-3-Clause
// Steps of two users on one node, their phases in turn.
#include <array>
#include <cstdlib>
#include <fcntl.h>
#include <grp.h>
#include <set>
#include <sys/stat.h>

#include "tests/unit/plugins/elan_step.h"

namespace hal::test {
namespace {

/// One step whose phases the test commands: p preinit, i init, a attach one more task, f end the
/// tasks and fini, z postfini. The three kinds of processes are those of the document; session and
/// tasks become the user where the test runs as root.
class CommandedStep {
 public:
  CommandedStep(const SwitchPlugin& plugin, switch_jobinfo_t job, uid_t user)
      : plugin_(plugin), job_(job), user_(user) {
    if (::pipe2(commands_, O_CLOEXEC) != 0 || ::pipe2(answers_, O_CLOEXEC) != 0) std::abort();
    manager_ = start([&] { return manage(); });
    ::close(commands_[0]);
    ::close(answers_[1]);
  }
  ~CommandedStep() {
    ::close(commands_[1]);  // whoever still waits for a command leaves
    ::close(answers_[0]);
    (void)exit_code(manager_);
  }
  CommandedStep(const CommandedStep&) = delete;
  CommandedStep& operator=(const CommandedStep&) = delete;

  /// @return true if the phase succeeded.
  [[nodiscard]] bool go(char command) {
    char answer = 'x';
    if (::write(commands_[1], &command, 1) != 1) return false;
    return ::read(answers_[0], &answer, 1) == 1 && answer == 'y';
  }

 private:
  char next() const {
    char command = 0;
    return ::read(commands_[0], &command, 1) == 1 ? command : 'q';
  }
  void answer(bool success) const {
    const char text = success ? 'y' : 'n';
    if (::write(answers_[1], &text, 1) != 1) ::_exit(90);
  }

  int manage() {
    ::close(commands_[1]);
    if (next() != 'p') return 1;
    answer(plugin_.job_preinit(job_) == 0);
    const pid_t session = start([&] { return run_session(); });
    (void)exit_code(session);
    if (next() != 'z') return 2;
    answer(plugin_.job_postfini(job_, static_cast<uid_t>(session), 1, 0) == 0);
    return 0;
  }

  int run_session() {
    if (next() != 'i') return 3;
    const bool opened = plugin_.job_init(job_, user_) == 0;
    answer(opened && become_user());
    int tasks_end[2];
    if (::pipe(tasks_end) != 0) return 4;
    std::vector<pid_t> tasks;
    char command = next();
    for (; command == 'a'; command = next()) {
      const auto local_id = static_cast<std::uint32_t>(tasks.size());
      tasks.push_back(start([&] { return run_task(local_id, tasks_end); }));
    }
    ::close(tasks_end[1]);
    bool well = command == 'f';
    for (const pid_t task : tasks) well = exit_code(task) == 0 && well;
    well = plugin_.job_fini(job_) == 0 && well;
    if (command == 'f') answer(well);
    return 0;
  }

  int run_task(std::uint32_t local_id, const int (&tasks_end)[2]) {
    ::close(tasks_end[1]);
    TestEnvironment environment({});
    answer(plugin_.job_attach(job_, environment.get(), 0, local_id, 1, 3, local_id) == 0);
    char byte = 0;
    return ::read(tasks_end[0], &byte, 1) == 0 ? 0 : 5;
  }

  [[nodiscard]] bool become_user() const {
    if (::getuid() == user_) return true;
    return ::setgroups(0, nullptr) == 0 && ::setresgid(user_, user_, user_) == 0 &&
           ::setresuid(user_, user_, user_) == 0;
  }

  const SwitchPlugin& plugin_;
  switch_jobinfo_t job_;
  uid_t user_;
  int commands_[2] = {-1, -1};
  int answers_[2] = {-1, -1};
  pid_t manager_ = 0;
};

class TwoUsers : public ElanStep {
 protected:
  void SetUp() override {
    ElanStep::SetUp();
    ASSERT_EQ(plugin_.libstate_restore(state_.data(), 1), 0);
    if (::geteuid() == 0) {
      users_ = {65534, 1};
      ASSERT_EQ(::chmod(site_.host.directory().path().c_str(), 0711), 0);
    }
  }

  std::array<uid_t, 2> users_{::getuid(), ::getuid()};
  std::string state_ = site_.state();
};

TEST_F(TwoUsers, Check29_InterleavedStepsDoNotReleaseEachOther) {
  switch_jobinfo_t one = plugin_.built("n0", 3);
  switch_jobinfo_t two = plugin_.built("n0", 3);
  CommandedStep first(plugin_, one, users_[0]);
  CommandedStep second(plugin_, two, users_[1]);
  for (const char phase : {'p', 'i', 'a', 'a'}) {
    ASSERT_TRUE(first.go(phase)) << phase;
    ASSERT_TRUE(second.go(phase)) << phase;
  }
  const auto both = mock_->leaks();

  ASSERT_TRUE(first.go('f'));
  ASSERT_TRUE(first.go('z'));
  EXPECT_EQ(plugin_.job_step_complete(one, nullptr), 0);
  plugin_.free_jobinfo(one);

  const auto left = mock_->leaks();
  EXPECT_LT(left.size(), both.size());
  EXPECT_FALSE(left.empty());
  for (const auto& line : left) {
    EXPECT_NE(std::ranges::find(both, line), both.end()) << line;
  }
  EXPECT_EQ(site_.recorded().size(), 1U) << "the second step's grant";
  EXPECT_TRUE(second.go('a')) << "its program still takes a task";
  switch_jobinfo_t third = plugin_.built("n0", 3);
  EXPECT_EQ(site_.recorded().size(), 2U);
  EXPECT_TRUE(second.go('f')) << "its tasks ended by themselves";
  EXPECT_TRUE(second.go('z'));
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  plugin_.free_jobinfo(two);
  EXPECT_EQ(site_.recorded().size(), 1U) << "the third step's grant";
  plugin_.free_jobinfo(third);
  EXPECT_EQ(site_.recorded().size(), 0U);
}

TEST_F(TwoUsers, Check29_EachTaskAttachesAsItsUserToItsOwnProgram) {
  switch_jobinfo_t one = plugin_.built("n0", 3);
  switch_jobinfo_t two = plugin_.built("n0", 3);
  {
    CommandedStep first(plugin_, one, users_[0]);
    CommandedStep second(plugin_, two, users_[1]);
    for (const char phase : {'p', 'i', 'a', 'f', 'z'}) {
      ASSERT_TRUE(first.go(phase)) << phase;
      ASSERT_TRUE(second.go(phase)) << phase;
    }
  }

  std::multiset<uid_t> attached;
  for (const auto& call : mock_->trace()) {
    if (call.function == "rms_setcap" && call.result == 0) attached.insert(call.uid);
    if (call.function == "rms_prgcreate" || call.function == "rms_prgdestroy") {
      EXPECT_EQ(call.uid, ::getuid()) << to_string(call);
    }
  }
  EXPECT_EQ(attached, std::multiset<uid_t>(users_.begin(), users_.end()));
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  plugin_.free_jobinfo(one);
  plugin_.free_jobinfo(two);
}

}  // namespace
}  // namespace hal::test
