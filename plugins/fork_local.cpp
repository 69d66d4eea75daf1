// SPDX-License-Identifier: BSD-3-Clause
#include "plugins/fork_local.h"

#include <cerrno>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace hal::plugin {

ForkWipedPage::~ForkWipedPage() {
  if (page_ != nullptr) ::munmap(page_, kSize);
}

Result<> ForkWipedPage::map() {
  void* page = ::mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return fail_errno(errno, "mmap of the per-process page");
  page_ = page;
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
