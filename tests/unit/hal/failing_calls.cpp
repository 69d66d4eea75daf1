// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/hal/failing_calls.h"

#include <cerrno>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hal::test {
namespace {

struct Plan {
  FailingCalls::Way way = FailingCalls::Way::error;
  int calls_left = -1;  ///< before the chosen one; negative: none is chosen
  bool active = false;
};

thread_local Plan plan;

/// True when the present call is to fail.
bool fails(bool is_link) {
  if (!plan.active) return false;
  if (plan.way == FailingCalls::Way::unlink) return is_link;
  if (plan.calls_left < 0 || plan.calls_left-- > 0) return false;
  if (plan.way == FailingCalls::Way::crash) ::_exit(FailingCalls::kCrashStatus);
  return true;
}

}  // namespace

FailingCalls::FailingCalls(Way way, int nth) { plan = {way, nth, true}; }
FailingCalls::~FailingCalls() { plan = {}; }
bool FailingCalls::reached() const { return plan.calls_left < 0; }

}  // namespace hal::test

using hal::test::fails;

extern "C" {

int fsync(int fd) {
  if (fails(false)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int linkat(int from_dir, const char* from, int to_dir, const char* to, int flags) noexcept {
  if (fails(true)) {
    errno = hal::test::plan.way == hal::test::FailingCalls::Way::unlink ? EPERM : EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_linkat, from_dir, from, to_dir, to, flags));
}

int renameat(int from_dir, const char* from, int to_dir, const char* to) noexcept {
  if (fails(false)) {
    errno = EIO;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, from_dir, from, to_dir, to, 0));
}

}  // extern "C"
