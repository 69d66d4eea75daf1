// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/fork_local.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#include <sanitizer/lsan_interface.h>
#define BACKPLANE_LEAK_CHECKER 1
#endif
#endif

namespace hal::plugin {
namespace {

// The leak checker follows no pointer out of a mapping that it is not told of, and the command ends
// without closing its plugins.
void show_to_leak_checker([[maybe_unused]] const void* page, [[maybe_unused]] bool there) noexcept {
#ifdef BACKPLANE_LEAK_CHECKER
  if (there) {
    __lsan_register_root_region(page, ForkWipedPage::kSize);
  } else {
    __lsan_unregister_root_region(page, ForkWipedPage::kSize);
  }
#endif
}

}  // namespace

ForkWipedPage::~ForkWipedPage() {
  if (page_ == nullptr) return;
  show_to_leak_checker(page_, false);
  ::munmap(page_, kSize);
}

Result<> ForkWipedPage::map() {
  void* page = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return fail_errno(errno, "mmap of the per-process page");
  page_ = page;
  show_to_leak_checker(page_, true);
  owner_ = ::getpid();
  kernel_wipes_ = ::madvise(page_, kSize, MADV_WIPEONFORK) == 0;
  return {};
}

void ForkWipedPage::wipe_if_forked() noexcept {
  const int self = ::getpid();
  if (self == owner_ || page_ == nullptr) return;
  std::memset(page_, 0, kSize);  // first use in the child, which starts with a single thread
  owner_ = self;
}

}  // namespace hal::plugin
