// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <set>
#include <sys/resource.h>
#include <sys/shm.h>

#include "tests/unit/backends/elan_node_fixture.h"

namespace hal::elan::test {
namespace {

constexpr uid_t kNobody = 65534;

/// open_context with something failing, and what stays of it.
class ElanFaultTest : public ElanNodeTest {
 protected:
  /// What this process has open, by name (a socket's has its number), without the mock kernel's
  /// file: handles in that are part of the mock's own report.
  [[nodiscard]] std::multiset<std::string> open_files() const {
    std::multiset<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string name = std::filesystem::read_symlink(entry.path(), gone).string();
      if (name != mock_->path() && name.find("/proc/") != 0) names.insert(name);
    }
    return names;
  }

  /// Ends the caller, a child, rather than to wait for a process that stays.
  static void adopt_orphans() {
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    ::alarm(60);
  }

  /// Refuses one open, so that libraries and the mock kernel's file are opened already.
  [[nodiscard]] bool warm_up() {
    return node_->prepare(step_) && mock_->inject("elanctrl_open", 1, ENODEV) &&
           code_of(node_->open_context(step_, ::getuid())) == kElanControl;
  }

  [[nodiscard]] int statistics_segment() const {
    return ::shmget(read_capability(step_)->statistics_key(), 0, 0);
  }

  void expect_nothing_left() {
    ElanNodeTest::expect_nothing_left();
    EXPECT_EQ(statistics_segment(), -1);
  }
};

struct Fault {
  const char* function;
  int error;
  int code;
  Errc kind;
};

class ElanVendorFaultTest : public ElanFaultTest, public ::testing::WithParamInterface<Fault> {
 protected:
  void SetUp() override {
    if (std::string_view(GetParam().function).starts_with("elan3")) options_["flavour"] = "elan3";
    ElanFaultTest::SetUp();
    // The libraries are open; the first call in another process starts with rmsmod_init.
    ASSERT_TRUE(node_->destroy_context(step_, {}));
  }

  /// 0 if the open fails as it should and leaves nothing in this process.
  [[nodiscard]] int open_and_fail() {
    const auto before = open_files();
    if (!mock_->inject(GetParam().function, 1, GetParam().error)) return 20;
    const auto opened = node_->open_context(step_, ::getuid());
    if (opened || opened.error().kind != GetParam().kind) return 21;
    if (opened.error().code != GetParam().code) return 22;
    return open_files() == before ? 0 : 23;
  }
};

TEST_P(ElanVendorFaultTest, Check15_TwoManagers) {
  ASSERT_TRUE(node_->prepare(step_));
  Child session([&](Child&) {
    adopt_orphans();
    const int result = open_and_fail();
    return result != 0 ? result : ::waitpid(-1, nullptr, 0) < 0 ? 0 : 24;  // nothing was started
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  expect_nothing_left();
}

TEST_P(ElanVendorFaultTest, Check15_OneManager) {
  // After the program exists only the watcher can end it, when the manager has ended.
  const bool watched = std::string_view(GetParam().function) == "rms_prgaddcap";
  Child manager([&](Child&) {
    if (!watched) adopt_orphans();
    if (!node_->prepare(step_)) return 10;
    if (const int result = open_and_fail(); result != 0) return result;
    if (!node_->destroy_context(step_, {})) return 12;
    while (!watched && ::waitpid(-1, nullptr, 0) > 0) {
    }
    return 0;
  });

  EXPECT_EQ(manager.wait(), 0);
  reap_orphans();
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(
    EachCall, ElanVendorFaultTest,
    ::testing::Values(Fault{"rmsmod_init", EBADF, EBADF, kind_of_errno(EBADF)},
                      Fault{"rmsmod_init", ENOENT, ENOENT, Errc::not_found},
                      Fault{"elanctrl_open", ENODEV, kElanControl, Errc::no_device},
                      Fault{"elanctrl_create_cap", EINVAL, kElanCreate, Errc::busy},
                      Fault{"elanctrl_create_cap", ENOMEM, kElanCreate, Errc::vendor},
                      Fault{"elan3_control_open", ENODEV, kElanControl, Errc::no_device},
                      Fault{"elan3_create", EINVAL, kElanCreate, Errc::busy},
                      Fault{"rms_prgcreate", EINVAL, kInvalidProgramCreate, Errc::busy},
                      Fault{"rms_prgcreate", EACCES, EACCES, Errc::no_permission},
                      Fault{"rms_prgcreate", EBADF, EBADF, kind_of_errno(EBADF)},
                      Fault{"rms_prgcreate", ENOMEM, ENOMEM, kind_of_errno(ENOMEM)},
                      Fault{"rms_prgaddcap", ESRCH, kSearchAddCap, Errc::not_found},
                      Fault{"rms_prgaddcap", EFAULT, kFaultAddCap, kind_of_errno(EFAULT)}),
    [](const auto& fault) {
      return fault.param.function + ("_" + std::string(::strerrorname_np(fault.param.error)));
    });

// A segment of that key which is not the step's: it goes on without, and leaves it alone.
TEST_F(ElanFaultTest, Check15_ForeignSegment) {
  host_.log_path_ = directory_.file("log");
  const int foreign =
      ::shmget(read_capability(step_)->statistics_key(), 4096, IPC_CREAT | IPC_EXCL | 0600);
  ASSERT_GE(foreign, 0);
  ASSERT_TRUE(node_->prepare(step_));
  Child session([&](Child&) {
    const auto before = open_files();
    if (!node_->open_context(step_, ::getuid())) return 1;
    if (open_files() != before) return 2;
    const auto environment = node_->attach(step_, task_place(0));
    if (!environment || environment->size() != 5) return 3;  // no ELAN_STATKEY
    return node_->leave(step_) ? 0 : 4;
  });

  EXPECT_EQ(session.wait(), 0);
  EXPECT_TRUE(node_->destroy_context(step_, {}));
  EXPECT_NE(read_text(host_.log_path_).find("without a statistics segment"), std::string::npos);
  EXPECT_EQ(statistics_segment(), foreign) << "the step removed what is not its own";
  ::shmctl(foreign, IPC_RMID, nullptr);
  expect_nothing_left();
}

TEST_F(ElanFaultTest, Check15_NoDescriptorForTheWatcher) {
  Child manager([&](Child&) {
    adopt_orphans();
    if (!warm_up()) return 1;
    const auto before = open_files();
    const int next = ::dup(0);
    ::close(next);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit none{static_cast<rlim_t>(next), limit.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
    const auto opened = node_->open_context(step_, ::getuid());
    ::setrlimit(RLIMIT_NOFILE, &limit);
    if (opened || opened.error().kind != Errc::exhausted || opened.error().code != EMFILE) return 2;
    if (open_files() != before || !node_->destroy_context(step_, {})) return 3;
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    return 0;
  });

  EXPECT_EQ(manager.wait(), 0);
  expect_nothing_left();
  EXPECT_EQ(count_calls("rms_prgcreate"), 0);
}

TEST_F(ElanFaultTest, Check15_NoProcessForTheWatcher) {
  Child manager([&](Child&) {
    adopt_orphans();
    if (!warm_up()) return 1;
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 4;
    ::prctl(PR_SET_DUMPABLE, 1);  // or else /proc/self/fd is root's
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_NPROC, &none);
    const auto before = open_files();
    const auto opened = node_->open_context(step_, ::getuid());
    if (opened || opened.error().kind != Errc::exhausted || opened.error().code != EAGAIN) return 2;
    if (open_files() != before || !node_->destroy_context(step_, {})) return 3;
    return ::waitpid(-1, nullptr, 0) < 0 ? 0 : 5;
  });

  EXPECT_EQ(manager.wait(), 0);
  expect_nothing_left();
  EXPECT_EQ(count_calls("rms_prgcreate"), 0);
}

TEST_F(ElanFaultTest, Check15_RefusedWhileAnotherStepHoldsTheContexts) {
  ASSERT_TRUE(node_->prepare(step_));
  const auto first = session();
  ASSERT_EQ(opened_, 0);
  const Credential held = step_;
  step_ = *build(*this->controller(), "q[5-6]", 2);

  const auto second = session();

  EXPECT_EQ(opened_, kElanCreate);
  first->tell();
  first->wait();
  EXPECT_TRUE(node_->destroy_context(held, {}));
}

// A capability that an ending step still holds is waited for.
TEST_F(ElanFaultTest, Check15_WaitsForAnEndingStep) {
  options_["open_wait_ms"] = "20000";
  node_ = node();
  ASSERT_TRUE(node_->prepare(step_));
  ASSERT_TRUE(mock_->inject("elanctrl_create_cap", 1, EINVAL));

  const auto session = this->session();

  EXPECT_EQ(opened_, 0);
  EXPECT_EQ(count_calls("elanctrl_create_cap"), 2);
  session->tell();
  session->wait();
  EXPECT_TRUE(node_->destroy_context(step_, {}));
}

}  // namespace
}  // namespace hal::elan::test
