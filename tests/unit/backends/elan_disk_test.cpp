// SPDX-License-Identifier: BSD-3-Clause
// Check 12 where the disk is at fault: full, unreadable, gone.
#include <cerrno>
#include <csignal>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "backends/elan/saved_state.h"
#include "hal/bytes.h"
#include "tests/unit/backends/elan_fixture.h"
#include "tests/unit/mocks/elan_mock_fixture.h"

namespace hal::elan::test {
namespace {

using backplane_mock::Child;

constexpr uid_t kNobody = 65534;

class ElanDiskTest : public ElanTest {
 protected:
  ElanDiskTest() : state_path_(directory_.file("qsw_state")) {}

  [[nodiscard]] bool state_is(const std::string& path, const std::string& expected) const {
    return read_text(path) == expected && decode_state(as_bytes(expected));
  }

  /// 0 if `controller` refuses to grant and to save with `code`, keeps the file at `path`, and goes
  /// on as if nothing had been asked once `repair` has run.
  template <class Repair>
  int refuses_until(InterconnectController& controller, const std::string& directory, int code,
                    Repair&& repair) {
    const std::string path = directory + "/qsw_state";
    const std::string old = read_text(path);
    const std::uint32_t last = decode_state(as_bytes(old))->next_program;
    const auto refused = build(controller, "q7", 1);
    if (refused || refused.error().kind != Errc::exhausted) return 30;
    if (refused.error().code != code) return 31;
    const auto saved = controller.save(directory);
    if (saved || saved.error().code != code) return 32;
    if (!state_is(path, old)) return 33;
    if (std::filesystem::exists(path + ".tmp")) return 34;
    repair();
    const auto granted = build(controller, "q7", 1);
    if (!granted) return 35;
    const Capability next = *read_capability(*granted);
    return next.program == last && !state_is(path, old) ? 0 : 36;
  }

  std::string state_path_;
};

TEST_F(ElanDiskTest, Check12_FileSizeLimit) {
  Child child([&](Child&) {
    auto controller = this->controller();
    if (!controller->load(directory_.path(), {}) || !build(*controller, "q0", 1)) return 1;
    ::signal(SIGXFSZ, SIG_IGN);
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlimit little{40, limit.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &little);
    return refuses_until(*controller, directory_.path(), EFBIG,
                         [&] { ::setrlimit(RLIMIT_FSIZE, &limit); });
  });

  EXPECT_EQ(child.wait(), 0);
}

// A file system of two pages: at some point the old file and the new one do not fit both.
TEST_F(ElanDiskTest, Check12_FullDisk) {
  constexpr int kNoMounts = 77;
  std::filesystem::create_directory(directory_.file("disk"));
  const std::string disk = directory_.file("disk");
  Child child([&](Child&) {
    const int spaces = CLONE_NEWNS | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
    if (::unshare(spaces) != 0 || ::mount("", "/", "", MS_REC | MS_PRIVATE, "") != 0 ||
        ::mount("elan", disk.c_str(), "tmpfs", 0, "size=16k,mode=0700") != 0) {
      return kNoMounts;
    }
    auto controller = this->controller();
    if (!controller->load(disk, {})) return 1;
    Result<Credential> built;
    std::string old;
    for (int i = 0; i < 1000; ++i) {
      old = read_text(disk + "/qsw_state");
      built = build(*controller, "q" + std::to_string(i), 1);
      if (!built) break;
    }
    if (built) return 2;
    if (!state_is(disk + "/qsw_state", old)) return 3;
    return refuses_until(*controller, disk, ENOSPC,
                         [&] { ::mount("", disk.c_str(), "", MS_REMOUNT, "size=1m"); });
  });

  const int result = child.wait();
  if (result == kNoMounts) GTEST_SKIP() << "the kernel lends no mount namespace to this user";
  EXPECT_EQ(result, 0);
}

TEST_F(ElanDiskTest, Check12_UnreadableFile) {
  auto before = this->controller();
  ASSERT_TRUE(before->load(directory_.path(), {}));
  ASSERT_TRUE(build(*before, "q0", 1));
  const std::string old = read_text(state_path_);
  if (::geteuid() == 0) {
    for (const std::string& path : {directory_.path(), state_path_, directory_.file("elanhosts")}) {
      ASSERT_EQ(::chown(path.c_str(), kNobody, kNobody), 0);
    }
  }
  ASSERT_EQ(::chmod(state_path_.c_str(), 0), 0);

  Child child([&](Child&) {
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 1;
    auto controller = this->controller();
    const auto live = build(*controller, "q1", 1023);
    if (!live) return 2;
    const auto loaded = controller->load(directory_.path(), {});
    if (loaded || loaded.error().kind != Errc::no_permission) return 3;
    if (loaded.error().code != EACCES) return 4;
    const auto refused = build(*controller, "q1", 1);
    return refused.error().code == EAGAIN ? 0 : 5;  // the state is what it was
  });

  EXPECT_EQ(child.wait(), 0);
  ASSERT_EQ(::chmod(state_path_.c_str(), 0600), 0);
  EXPECT_TRUE(state_is(state_path_, old));
  EXPECT_FALSE(std::filesystem::exists(state_path_ + ".bad")) << "unreadable is not damaged";
}

TEST_F(ElanDiskTest, Check12_DirectoryGoesAway) {
  const std::string place = directory_.file("state");
  std::filesystem::create_directory(place);
  std::filesystem::permissions(place, std::filesystem::perms(0700));
  auto controller = this->controller();
  ASSERT_TRUE(controller->load(place, {}));
  const Capability first = fields(build(*controller, "q0", 1));
  const std::string old = read_text(place + "/qsw_state");
  std::filesystem::rename(place, place + ".away");

  EXPECT_EQ(build(*controller, "q0", 1).error().kind, Errc::not_found);
  EXPECT_EQ(controller->save(place).error().kind, Errc::not_found);

  std::filesystem::rename(place + ".away", place);
  EXPECT_TRUE(state_is(place + "/qsw_state", old));
  EXPECT_EQ(fields(build(*controller, "q0", 1)).low_context, first.high_context + 1);
}

// Each length of a file that was cut: refused where the site says so, and otherwise rebuilt.
TEST_F(ElanDiskTest, Check12_EveryTruncationThroughTheController) {
  auto before = this->controller();
  ASSERT_TRUE(before->load(directory_.path(), {}));
  const auto running = build(*before, "q[0,2]", 3);
  const std::string whole = read_text(state_path_);
  auto lenient = this->controller();
  options_["strict_state"] = "yes";
  auto strict = this->controller();
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const std::string part = whole.substr(0, size);
    write_text(state_path_, part);

    const auto refused = strict->load(directory_.path(), {});
    ASSERT_FALSE(refused) << size;
    ASSERT_EQ(refused.error().code, kBadMagicLibState) << size;
    ASSERT_EQ(read_text(state_path_), part) << "the file was changed";

    const Credential* const steps[] = {&*running};
    ASSERT_TRUE(lenient->load(directory_.path(), steps)) << size;
    ASSERT_EQ(read_text(state_path_ + ".bad"), part);
    ASSERT_TRUE(lenient->save(directory_.path()));
    const auto rebuilt = decode_state(as_bytes(read_text(state_path_)));
    ASSERT_TRUE(rebuilt) << size;
    ASSERT_EQ(rebuilt->contexts.grants().size(), 1U);
  }
}

}  // namespace
}  // namespace hal::elan::test
