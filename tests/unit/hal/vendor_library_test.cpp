// SPDX-License-Identifier: BSD-3-Clause
#include "hal/vendor_library.h"

#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "tests/unit/hal/scratch_dir.h"

namespace hal {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kBuilt = HAL_TEST_VENDOR_DIR "/";
const std::string kComplete = kBuilt + "vendor_complete.so";  // answers 1
const std::string kOther = kBuilt + "vendor_other.so";        // answers 2
const std::string kPinned = kBuilt + "vendor_pinned.so";      // answers 3, never unloaded
const std::string kLacking = kBuilt + "vendor_lacking.so";

struct VendorApi {
  VendorFn<int()> answer{"vendor_answer"};
  VendorFn<int(int, int)> add{"vendor_add"};

  Result<> load(const VendorLibrary& library) { return library.resolve({&answer, &add}); }
};

class VendorLibraryTest : public ::testing::Test {
 protected:
  VendorLibraryTest() { ::unsetenv("HAL_TEST_VENDOR_RAN"); }

  static bool vendor_ran() { return std::getenv("HAL_TEST_VENDOR_RAN") != nullptr; }

  /// A copy in the scratch directory.
  std::string copied(const std::string& from, const std::string& name, mode_t mode = 0755) {
    std::filesystem::copy_file(from, dir_.file(name),
                               std::filesystem::copy_options::overwrite_existing);
    EXPECT_EQ(::chmod(dir_.file(name).c_str(), mode), 0);
    return dir_.file(name);
  }

  static int answer_of(const VendorLibrary& library) {
    VendorApi api;
    const auto loaded = api.load(library);
    EXPECT_TRUE(loaded);
    return loaded ? api.answer() : -1;
  }

  static Error refusal(const std::string& path) {
    const auto library = VendorLibrary::open(path);
    EXPECT_FALSE(library) << path;
    return library ? Error{} : library.error();
  }

  /// Names by which the loader knows libraries.
  static std::vector<std::string> loaded_names() {
    std::vector<std::string> names;
    ::dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* out) {
          static_cast<std::vector<std::string>*>(out)->emplace_back(info->dlpi_name);
          return 0;
        },
        &names);
    return names;
  }

  test::ScratchDir dir_;
};

TEST_F(VendorLibraryTest, FillsTheTable) {
  const auto library = VendorLibrary::open(copied(kComplete, "lib.so"));
  ASSERT_TRUE(library) << library.error().detail;
  VendorApi api;

  ASSERT_TRUE(api.load(*library));

  EXPECT_TRUE(api.answer.loaded());
  EXPECT_EQ(api.answer(), 1);
  EXPECT_EQ(api.add(2, 3), 5);
  EXPECT_TRUE(vendor_ran());
}

TEST_F(VendorLibraryTest, AllMissingSymbolsInOneErrorAndNothingFilled) {
  const auto library = VendorLibrary::open(copied(kLacking, "lib.so"));
  ASSERT_TRUE(library) << library.error().detail;
  VendorApi api;
  VendorFn<int()> other{"vendor_other"};

  const auto loaded = library->resolve({&other, &api.answer, &api.add});

  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().kind, Errc::no_device);
  EXPECT_THAT(loaded.error().detail,
              AllOf(HasSubstr("lib.so lacks vendor_answer vendor_add:"), Not(HasSubstr("other"))));
  EXPECT_FALSE(other.loaded());
  EXPECT_FALSE(api.answer.loaded());
}

TEST_F(VendorLibraryTest, ThroughALink) {
  copied(kComplete, "lib.so.1");
  std::filesystem::create_symlink("lib.so.1", dir_.file("lib.so"));

  const auto library = VendorLibrary::open(dir_.file("lib.so"));

  ASSERT_TRUE(library) << library.error().detail;
  EXPECT_EQ(answer_of(*library), 1);
  EXPECT_EQ(library->path(), dir_.file("lib.so"));
  EXPECT_THAT(loaded_names(), Contains(dir_.file("lib.so.1"))) << "$ORIGIN needs the real path";
}

TEST_F(VendorLibraryTest, AbsentLibraryIsNoDevice) {
  const Error error = refusal(dir_.file("none.so"));

  EXPECT_EQ(error.kind, Errc::no_device);
  EXPECT_EQ(error.code, ENOENT);
  EXPECT_THAT(error.detail, HasSubstr(dir_.file("none.so")));
}

TEST_F(VendorLibraryTest, WhatIsNoLibraryIsNoDevice) {
  const Error error = refusal(dir_.put("lib.so", "not an ELF file", 0755));

  EXPECT_EQ(error.kind, Errc::no_device);
  EXPECT_THAT(error.detail, HasSubstr("cannot be loaded"));
  EXPECT_EQ(refusal(dir_.put("empty.so", "", 0755)).kind, Errc::no_device);
}

TEST_F(VendorLibraryTest, UnsafeModesAreRefusedBeforeTheLoaderSeesTheFile) {
  for (const mode_t mode : {0757U, 0775U, 0777U}) {
    const Error error = refusal(copied(kComplete, "lib.so", mode));
    EXPECT_EQ(error.kind, Errc::no_permission) << std::oct << mode;
    EXPECT_THAT(error.detail, HasSubstr("chmod go-w"));
  }
  EXPECT_FALSE(vendor_ran());
}

TEST_F(VendorLibraryTest, AnotherOwnerIsRefused) {
  const std::string path = copied(kComplete, "lib.so");
  if (::chown(path.c_str(), 12345, static_cast<gid_t>(-1)) != 0) {
    GTEST_SKIP() << "the kernel grants CAP_CHOWN to privileged users only";
  }

  EXPECT_EQ(refusal(path).kind, Errc::no_permission);
  EXPECT_FALSE(vendor_ran());
}

TEST_F(VendorLibraryTest, WhatIsNoRegularFileIsRefused) {
  ASSERT_EQ(::mkfifo(dir_.file("fifo").c_str(), 0600), 0);

  EXPECT_EQ(refusal(dir_.file("fifo")).kind, Errc::no_permission);
  EXPECT_EQ(refusal(dir_.path()).kind, Errc::no_permission);
}

TEST_F(VendorLibraryTest, RelativePathsAreRefused) {
  for (const char* path : {"", "./lib.so", "lib/lib.so"}) {
    EXPECT_EQ(refusal(path).kind, Errc::invalid_argument) << path;
  }
}

TEST_F(VendorLibraryTest, PlainNamesGoToTheLoader) {
  EXPECT_TRUE(VendorLibrary::open("libc.so.6"));
  EXPECT_EQ(refusal("libno-such-vendor.so.9").kind, Errc::no_device);
}

// In a directory where others can rename files, what was checked is loaded by its descriptor.
TEST_F(VendorLibraryTest, DirectoryThatOthersCanWrite) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  const auto first = VendorLibrary::open(copied(kComplete, "a.so"));
  const auto second = VendorLibrary::open(copied(kOther, "b.so"));
  ASSERT_TRUE(first) << first.error().detail;
  ASSERT_TRUE(second) << second.error().detail;

  EXPECT_EQ(answer_of(*first), 1);
  EXPECT_EQ(answer_of(*second), 2);
  EXPECT_THAT(loaded_names(), Not(Contains(HasSubstr(dir_.path()))));
  const auto again = VendorLibrary::open(dir_.file("a.so"));
  ASSERT_TRUE(again);
  EXPECT_EQ(answer_of(*again), 1);
}

TEST_F(VendorLibraryTest, ReusedDescriptorNumbersAreNotMistaken) {
  ASSERT_EQ(::chmod(dir_.path().c_str(), 0777), 0);
  {
    const auto pinned = VendorLibrary::open(copied(kPinned, "pinned.so"));
    ASSERT_TRUE(pinned) << pinned.error().detail;
    EXPECT_EQ(answer_of(*pinned), 3);
  }
  // The loader still knows the pinned library by the number that is free again.
  for (const auto& [built, answer] : {std::pair{kComplete, 1}, std::pair{kOther, 2}}) {
    const auto library = VendorLibrary::open(copied(built, "next.so"));
    ASSERT_TRUE(library) << library.error().detail;
    EXPECT_EQ(answer_of(*library), answer);
    std::filesystem::remove(dir_.file("next.so"));
  }
}

TEST_F(VendorLibraryTest, OpenCloseOpen) {
  const std::string path = copied(kComplete, "lib.so");
  for (int i = 0; i < 3; ++i) {
    auto library = VendorLibrary::open(path);
    ASSERT_TRUE(library);
    const VendorLibrary moved = *std::move(library);
    EXPECT_EQ(answer_of(moved), 1);
  }
}

TEST_F(VendorLibraryTest, NothingIsOpen) {
  VendorApi api;
  const VendorLibrary none;

  EXPECT_FALSE(none.is_open());
  EXPECT_EQ(api.load(none).error().kind, Errc::no_device);
}

TEST(UniqueFd, OwnsItsDescriptor) {
  const int raw = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(raw, 0);
  {
    UniqueFd first(raw);
    UniqueFd second(std::move(first));
    EXPECT_FALSE(first.valid());  // NOLINT(bugprone-use-after-move): that is the question
    first = std::move(second);
    EXPECT_EQ(first.get(), raw);
    EXPECT_EQ(::fcntl(raw, F_GETFD), FD_CLOEXEC);
  }
  EXPECT_EQ(::fcntl(raw, F_GETFD), -1);
  EXPECT_EQ(UniqueFd().get(), -1);
}

}  // namespace
}  // namespace hal
