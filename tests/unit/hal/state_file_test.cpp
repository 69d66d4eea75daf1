// SPDX-License-Identifier: BSD-3-Clause
#include "hal/state_file.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hal/bytes.h"
#include "tests/unit/hal/failing_calls.h"
#include "tests/unit/hal/scratch_dir.h"

namespace hal {
namespace {

using test::FailingCalls;
using ::testing::HasSubstr;
using Content = Result<std::optional<std::vector<std::byte>>>;

std::string text_of(const Content& content) {
  if (!content) return "error: " + content.error().detail;
  if (!*content) return "nothing";
  return {reinterpret_cast<const char*>((*content)->data()), (*content)->size()};
}

/// Exit status of a child that runs `body`; -1 if a signal ended it.
int in_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status);
}

class StateFileTest : public ::testing::Test {
 protected:
  [[nodiscard]] bool has_leftovers() const {
    const auto entries = std::filesystem::directory_iterator(dir_.path());
    return std::any_of(begin(entries), end(entries),
                       [](const auto& entry) { return entry.path().string().ends_with(".tmp"); });
  }

  test::ScratchDir dir_;
  StateFile file_{dir_.path(), "elan_state"};
};

TEST_F(StateFileTest, NothingBeforeTheFirstWrite) {
  EXPECT_EQ(text_of(file_.read()), "nothing");
  EXPECT_EQ(text_of(file_.read_previous()), "nothing");
  EXPECT_TRUE(file_.keep_aside());
  EXPECT_FALSE(dir_.has("elan_state.bad"));
}

TEST_F(StateFileTest, KeepsThePrevious) {
  for (const char* content : {"one", "two", "three", ""}) {
    ASSERT_TRUE(file_.write(as_bytes(content)));
    EXPECT_EQ(text_of(file_.read()), content);
  }
  EXPECT_EQ(text_of(file_.read_previous()), "three");
  EXPECT_FALSE(has_leftovers());
  EXPECT_EQ(file_.path(), dir_.file("elan_state"));
}

TEST_F(StateFileTest, IsPrivate) {
  ASSERT_TRUE(file_.write(as_bytes("x")));

  struct stat facts {};
  ASSERT_EQ(::stat(file_.path().c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 07777, 0600U);
}

TEST_F(StateFileTest, LargeContent) {
  const std::string large(3'000'001, 'x');
  ASSERT_TRUE(file_.write(as_bytes(large)));

  EXPECT_EQ(text_of(file_.read()), large);
}

TEST_F(StateFileTest, KeepAsideSurvivesTheNextWrites) {
  dir_.put("elan_state", "damaged");

  ASSERT_TRUE(file_.keep_aside());
  ASSERT_TRUE(file_.write(as_bytes("new")));
  ASSERT_TRUE(file_.write(as_bytes("newer")));

  EXPECT_EQ(dir_.get("elan_state.bad"), "damaged");
  ASSERT_TRUE(file_.keep_aside());
  EXPECT_EQ(dir_.get("elan_state.bad"), "newer");
  EXPECT_EQ(text_of(file_.read()), "newer");
}

TEST_F(StateFileTest, FileSystemsWithoutHardLinks) {
  const FailingCalls no_links(FailingCalls::Way::unlink, 0);
  ASSERT_TRUE(file_.write(as_bytes("one")));
  ASSERT_TRUE(file_.write(as_bytes("two")));

  ASSERT_TRUE(file_.keep_aside());

  EXPECT_EQ(text_of(file_.read_previous()), "one");
  EXPECT_EQ(dir_.get("elan_state.bad"), "two");
  EXPECT_FALSE(has_leftovers());
}

TEST_F(StateFileTest, AnyFailingStepLeavesOldOrNew) {
  int failures = 0;
  for (int step = 0;; ++step) {
    const std::string before = "old " + std::to_string(step);
    ASSERT_TRUE(file_.write(as_bytes(before)));
    Result<> written;
    bool reached = false;
    {
      const FailingCalls failing(FailingCalls::Way::error, step);
      written = file_.write(as_bytes("new"));
      reached = failing.reached();
    }
    if (!reached) break;
    EXPECT_FALSE(has_leftovers()) << "step " << step;
    if (written) {  // a link that fails is replaced by a copy
      EXPECT_EQ(text_of(file_.read()), "new");
      EXPECT_EQ(text_of(file_.read_previous()), before);
      continue;
    }
    ++failures;
    EXPECT_EQ(written.error().code, EIO);
    EXPECT_TRUE(text_of(file_.read()) == before || text_of(file_.read_previous()) == before);
  }
  EXPECT_EQ(failures, 4);  // content synced, previous kept, content renamed, directory synced
}

TEST_F(StateFileTest, AnyCrashLeavesOldOrNew) {
  int crashes = 0;
  for (int step = 0;; ++step) {
    const std::string before = "old " + std::to_string(step);
    ASSERT_TRUE(file_.write(as_bytes(before)));

    const int status = in_child([&] {
      const FailingCalls failing(FailingCalls::Way::crash, step);
      return file_.write(as_bytes("new")) ? 0 : 1;
    });

    if (status == 0) break;
    ASSERT_EQ(status, FailingCalls::kCrashStatus);
    ++crashes;
    const std::string after = text_of(file_.read());
    EXPECT_TRUE(after == before || after == "new") << after;
  }
  EXPECT_EQ(crashes, 5);
  ASSERT_TRUE(file_.write(as_bytes("last")));
  EXPECT_FALSE(has_leftovers()) << "what a crash left is cleared by the next write";
}

TEST_F(StateFileTest, FileSizeLimitKeepsTheOldFile) {
  ASSERT_TRUE(file_.write(as_bytes("old")));

  const int status = in_child([&] {
    const rlimit small{4096, 4096};
    if (::setrlimit(RLIMIT_FSIZE, &small) != 0) return 2;
    std::signal(SIGXFSZ, SIG_IGN);
    const auto written = file_.write(std::vector<std::byte>(1 << 20));
    return !written && written.error().kind == Errc::exhausted ? 0 : 1;
  });

  EXPECT_EQ(status, 0);
  EXPECT_EQ(text_of(file_.read()), "old");
  EXPECT_FALSE(has_leftovers());
}

TEST_F(StateFileTest, FullDiskKeepsTheOldFile) {
  const int status = in_child([&] {
    if (::unshare(CLONE_NEWNS) != 0) return 3;
    if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return 3;
    if (::mount("none", dir_.path().c_str(), "tmpfs", 0, "size=64k,mode=700") != 0) return 3;
    if (!file_.write(as_bytes("old"))) return 2;
    const auto written = file_.write(std::vector<std::byte>(1 << 20));
    if (written || written.error().code != ENOSPC || written.error().kind != Errc::exhausted) {
      return 1;
    }
    return text_of(file_.read()) == "old" && !has_leftovers() ? 0 : 1;
  });
  if (status == 3) GTEST_SKIP() << "the kernel lets this user mount no tmpfs";

  EXPECT_EQ(status, 0);
}

TEST_F(StateFileTest, MissingDirectory) {
  const StateFile file(dir_.file("none"), "state");

  EXPECT_EQ(file.read().error().kind, Errc::not_found);
  EXPECT_EQ(file.write(as_bytes("x")).error().kind, Errc::not_found);
  EXPECT_EQ(file.keep_aside().error().kind, Errc::not_found);
  EXPECT_THAT(file.read().error().detail, HasSubstr(dir_.file("none")));
}

TEST_F(StateFileTest, DirectoryMayBeReachedThroughALink) {
  std::filesystem::create_directory(dir_.file("real"));
  std::filesystem::permissions(dir_.file("real"), std::filesystem::perms::owner_all);
  std::filesystem::create_directory_symlink("real", dir_.file("link"));

  EXPECT_TRUE(StateFile(dir_.file("link"), "state").write(as_bytes("x")));
  EXPECT_EQ(dir_.get("real/state"), "x");
}

TEST_F(StateFileTest, DirectoryThatOthersCanWriteIsRefused) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  const auto refused = file_.write(as_bytes("x"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Errc::no_permission);
  EXPECT_THAT(refused.error().detail, HasSubstr("chmod go-w"));
  EXPECT_EQ(file_.read().error().kind, Errc::no_permission);

  ASSERT_EQ(::chmod(dir_.path().c_str(), 01777), 0);
  EXPECT_TRUE(file_.write(as_bytes("x"))) << "a sticky directory is safe";
}

TEST_F(StateFileTest, ForeignDirectoryOrFileIsRefused) {
  dir_.put("elan_state", "planted");
  if (::chown(dir_.file("elan_state").c_str(), 12345, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "the kernel grants CAP_CHOWN to privileged users only";
  }
  EXPECT_EQ(file_.read().error().kind, Errc::no_permission);
  EXPECT_THAT(file_.read().error().detail, HasSubstr("owned by user 12345"));

  ASSERT_EQ(::chown(dir_.path().c_str(), 12345, static_cast<gid_t>(-1)), 0);
  EXPECT_EQ(file_.write(as_bytes("x")).error().kind, Errc::no_permission);
}

TEST_F(StateFileTest, FileThatOthersCanWriteIsRefused) {
  dir_.put("elan_state", "planted", 0666);

  EXPECT_EQ(file_.read().error().kind, Errc::no_permission);
  EXPECT_EQ(file_.write(as_bytes("x")).error().kind, Errc::no_permission);
  EXPECT_EQ(dir_.get("elan_state"), "planted");
  EXPECT_FALSE(has_leftovers());
}

TEST_F(StateFileTest, LinkInPlaceOfTheFileIsRefused) {
  dir_.put("target", "precious");
  std::filesystem::create_symlink("target", file_.path());

  EXPECT_EQ(file_.read().error().kind, Errc::corrupt);
  EXPECT_THAT(file_.read().error().detail, HasSubstr("symbolic link"));
  EXPECT_FALSE(file_.write(as_bytes("x")));
  EXPECT_FALSE(file_.keep_aside());
  EXPECT_EQ(dir_.get("target"), "precious");
  EXPECT_FALSE(has_leftovers());
}

TEST_F(StateFileTest, LinkInPlaceOfTheTemporaryFileIsNotFollowed) {
  dir_.put("target", "precious");
  std::filesystem::create_symlink("target", dir_.file("elan_state.tmp"));

  ASSERT_TRUE(file_.write(as_bytes("x")));

  EXPECT_EQ(dir_.get("target"), "precious");
  EXPECT_EQ(text_of(file_.read()), "x");
}

TEST_F(StateFileTest, UnreadableFileIsAnErrorAndStays) {
  dir_.put("elan_state", "precious", 0);
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0755), 0);

  const int status = in_child([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 2;
    const auto content = file_.read();
    return !content && content.error().code == EACCES ? 0 : 1;
  });

  EXPECT_EQ(status, 0);
  EXPECT_TRUE(dir_.has("elan_state"));
}

TEST_F(StateFileTest, SomethingElseInPlaceOfTheFile) {
  std::filesystem::create_directory(file_.path());
  EXPECT_EQ(file_.read().error().kind, Errc::corrupt);
  EXPECT_FALSE(file_.write(as_bytes("x")));
  EXPECT_FALSE(has_leftovers());

  const StateFile fifo(dir_.path(), "fifo");
  ASSERT_EQ(::mkfifo(fifo.path().c_str(), 0600), 0);
  EXPECT_EQ(fifo.read().error().kind, Errc::corrupt);
}

TEST_F(StateFileTest, DirectoriesInPlaceOfTheHelpers) {
  ASSERT_TRUE(file_.write(as_bytes("old")));
  std::filesystem::create_directory(dir_.file("elan_state.tmp"));
  EXPECT_FALSE(file_.write(as_bytes("new")));
  std::filesystem::remove(dir_.file("elan_state.tmp"));
  std::filesystem::create_directory(dir_.file("elan_state.old"));
  EXPECT_FALSE(file_.write(as_bytes("new")));

  EXPECT_EQ(text_of(file_.read()), "old");
  EXPECT_FALSE(has_leftovers());
}

TEST_F(StateFileTest, TooLarge) {
  dir_.put("elan_state", "");
  ASSERT_EQ(::truncate(file_.path().c_str(), off_t{StateFile::kMaxSize} + 1), 0);

  EXPECT_EQ(file_.read().error().kind, Errc::corrupt);
  constexpr std::size_t kSize = StateFile::kMaxSize + 1;
  void* const pages = ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(pages, MAP_FAILED);
  const auto refused = file_.write(std::span(static_cast<const std::byte*>(pages), kSize));
  EXPECT_EQ(refused.error().kind, Errc::invalid_argument) << "by its size, before it is read";
  ::munmap(pages, kSize);
}

TEST_F(StateFileTest, BadNames) {
  for (const char* name : {"", ".", "..", "a/b", "/etc/x"}) {
    const auto written = StateFile(dir_.path(), name).write(as_bytes("x"));
    ASSERT_FALSE(written) << name;
    EXPECT_EQ(written.error().kind, Errc::invalid_argument) << name;
  }
}

}  // namespace
}  // namespace hal
