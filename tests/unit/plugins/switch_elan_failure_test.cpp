// SPDX-License-Identifier: BSD-3-Clause
// Rows of the table of failure paths, each with what the host does next. Source: call order 4.1.
#include <cerrno>
#include <csignal>

#include "tests/unit/plugins/elan_step.h"

namespace hal::test {
namespace {

class ElanFailure : public ElanStep {
 protected:
  void SetUp() override {
    ElanStep::SetUp();
    job_ = plugin_.built("n0", 2);
  }
  void TearDown() override { plugin_.free_jobinfo(job_); }

  /// Programs that the node has now.
  [[nodiscard]] bool has_program() {
    return std::ranges::any_of(mock_->leaks(), [](const std::string& line) {
      return line.find("program") != std::string::npos;
    });
  }

  /// A session that came as far as one attached task that will not end by itself, and then does
  /// what `and_then` does instead of job_fini. @return its status as of waitpid.
  template <class Body>
  int run_broken_session(Body&& and_then) {
    const pid_t session = start([&] {
      if (plugin_.job_init(job_, ::getuid()) != 0) return 2;
      int attached[2];
      if (::pipe(attached) != 0) return 9;
      const pid_t task = start([&] {
        ::signal(SIGTERM, SIG_IGN);
        if (run_task(job_, 0) != 0) return 3;
        char byte = 0;
        if (::write(attached[1], &byte, 1) != 1) return 9;
        return ::pause();
      });
      ::close(attached[1]);
      char byte = 0;
      if (task < 0 || ::read(attached[0], &byte, 1) != 1) return 9;
      return and_then();
    });
    session_ = session;
    int status = 0;
    EXPECT_EQ(::waitpid(session, &status, 0), session);
    return status;
  }

  switch_jobinfo_t job_ = nullptr;
  pid_t session_ = 0;
};

TEST_F(ElanFailure, Check08_ATaskThatCannotAttachEndsAndTheStepGoesOn) {
  ASSERT_TRUE(mock_->inject("rms_setcap", 1, EINVAL));

  EXPECT_EQ(run_step(job_), 3) << "the task's own code: job_fini and job_postfini succeeded";

  EXPECT_EQ(calls_of("rms_setcap"), 2) << "the other task attached";
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
}

TEST_F(ElanFailure, Check08_AFailedAttachLeavesTheEnvironmentAndTellsItsNumber) {
  const pid_t session = start([&] {
    TestEnvironment environment({"A=1"});
    if (plugin_.job_preinit(job_) != 0 || plugin_.job_init(job_, ::getuid()) != 0) return 1;
    if (!mock_->inject("rms_setcap", 1, EINVAL)) return 2;
    const pid_t task = start([&] {
      const int result = plugin_.job_attach(job_, environment.get(), 0, 0, 1, 2, 0);
      const bool told = errno >= 3000 && errno <= 3099 && plugin_.error_number() == errno;
      const bool same = environment.variables() == std::vector<std::string>{"A=1"};
      return result == -1 && told && same ? 0 : 3;
    });
    return exit_code(task);
  });

  EXPECT_EQ(exit_code(session), 0);
}

TEST_F(ElanFailure, Check08_ASessionThatFailsBeforeItsTasksRunIsCleanedUp) {
  for (const int code : {2, 3, 4, 5, 6}) {  // user, session, directory, limits, fork
    ASSERT_EQ(plugin_.job_preinit(job_), 0);
    const int status = run_broken_session([&] { return code; });
    ASSERT_TRUE(WIFEXITED(status));
    ASSERT_EQ(WEXITSTATUS(status), code);
    ASSERT_TRUE(has_program());

    EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), 0);

    EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  }
}

TEST_F(ElanFailure, Check08_AKilledSessionIsCleanedUp) {
  ASSERT_EQ(plugin_.job_preinit(job_), 0);
  const int status = run_broken_session([] { return ::raise(SIGKILL); });
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_TRUE(has_program());

  EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), 0);

  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
}

TEST_F(ElanFailure, Check08_AKilledManagerLeavesAProgramUntilTheNodeIsCleared) {
  const pid_t manager = start([&] {
    if (plugin_.job_preinit(job_) != 0) return 1;
    (void)run_broken_session([] { return 0; });
    return ::raise(SIGKILL);
  });
  EXPECT_EQ(exit_code(manager), 128 + SIGKILL);
  ASSERT_TRUE(has_program());

  const pid_t clean_start = start([&] { return plugin_.clear_node_state() == 0 ? 0 : 1; });
  ASSERT_EQ(exit_code(clean_start), 0);

  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  EXPECT_EQ(run_step(job_), 0) << "and the node is usable again";
}

TEST_F(ElanFailure, Check08_AFailedPostfiniIsReportedAndCanBeRepeated) {
  ASSERT_EQ(plugin_.job_preinit(job_), 0);
  (void)run_broken_session([] { return 0; });
  ASSERT_TRUE(mock_->inject("rms_prgdestroy", 1, EIO));

  EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), -1);

  EXPECT_EQ(errno, EIO);
  EXPECT_EQ(plugin_.error_number(), 0) << "the C library's number, not the switch's";
  EXPECT_TRUE(has_program());
  EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), 0);
  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
  EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), 0) << "idempotent";
}

TEST_F(ElanFailure, Check08_AFailedFiniDoesNotKeepPostfiniFromSuccess) {
  ASSERT_EQ(plugin_.job_preinit(job_), 0);
  const int status = run_broken_session([&] {
    std::uint64_t foreign[16] = {};
    return plugin_.job_fini(foreign) == -1 && errno == EINVAL ? 1 : 9;
  });
  ASSERT_EQ(WEXITSTATUS(status), 1);

  EXPECT_EQ(plugin_.job_postfini(job_, static_cast<uid_t>(session_), 1, 0), 0);

  EXPECT_TRUE(mock_->leaks().empty()) << mock_->leaks().front();
}

TEST_F(ElanFailure, Check08_AMissingCopyTravelsAndIsRefusedOnTheNode) {
  const auto message = plugin_.packed(nullptr);  // what a host packs after copy_jobinfo failed

  switch_jobinfo_t received = plugin_.unpacked(message);

  EXPECT_EQ(plugin_.job_preinit(received), -1);
  EXPECT_EQ(errno, 3002);
  plugin_.free_jobinfo(received);
  EXPECT_TRUE(mock_->trace().empty()) << "the vendor never heard of it";
}

TEST_F(ElanFailure, Check08_ADamagedMessageIsRefusedAndTheHandleFreed) {
  const auto bytes = plugin_.packed(job_);
  for (const std::size_t at : {std::size_t{0}, std::size_t{3}}) {
    auto damaged = bytes;
    damaged[at] ^= std::byte{0xff};
    TestBuffer buffer(damaged);
    switch_jobinfo_t received = plugin_.allocate();

    EXPECT_EQ(plugin_.unpack_jobinfo(received, buffer.get()), -1);

    EXPECT_EQ(errno, 3002);
    EXPECT_EQ(buffer.processed(), 0U);
    plugin_.free_jobinfo(received);
  }
  EXPECT_TRUE(mock_->leaks().empty());
}

}  // namespace
}  // namespace hal::test
