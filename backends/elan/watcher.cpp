// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backends/elan/pidfd.h"
#include "backends/elan/rms.h"

namespace hal::elan {
namespace {

constexpr int kOrders = 3;
constexpr int kManager = 4;
constexpr char kReady = 'r';

/// Leaves only the orders and, if there is one, the reference to the manager: a descriptor kept
/// here would hold the step's pipes open. @return false: the orders could not be kept.
bool drop_descriptors(int orders, int manager) {
  const int kept_orders = ::fcntl(orders, F_DUPFD, 10);
  const int kept_manager = manager >= 0 ? ::fcntl(manager, F_DUPFD, 10) : -1;
  const int null = ::open("/dev/null", O_RDWR);
  for (const int standard : {0, 1, 2}) {
    if (null >= 0) ::dup2(null, standard);
  }
  const bool kept = ::dup2(kept_orders, kOrders) == kOrders;
  if (kept_manager >= 0) ::dup2(kept_manager, kManager);
  ::close_range(static_cast<unsigned>(kept_manager >= 0 ? kManager + 1 : kOrders + 1), ~0U, 0);
  return kept;
}

/// The program that the manager named, or 0 when it ended first.
int read_order() {
  int program = 0;
  ssize_t got;
  do {
    got = ::read(kOrders, &program, sizeof program);
  } while (got < 0 && errno == EINTR);
  return got == sizeof program ? program : 0;
}

void wait_for_death(pid_t manager, bool has_reference) {
  pollfd death{kManager, POLLIN, 0};
  while (has_reference) {
    if (::poll(&death, 1, -1) > 0) return;
  }
  const timespec pause{0, 100'000'000};  // a kernel without pidfd_open
  while (::kill(manager, 0) == 0 || errno == EPERM) ::nanosleep(&pause, nullptr);
}

[[noreturn]] void watch(const RmsApi& rms, const EndPolicy& policy, pid_t manager, int orders,
                        int reference) {
  sigset_t all;
  ::sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);
  ::setsid();
  ::prctl(PR_SET_NAME, "elan-watcher");
  if (::chdir("/") != 0) ::_exit(1);
  rms.fini();
  if (!drop_descriptors(orders, reference)) ::_exit(1);
  if (::send(kOrders, &kReady, sizeof kReady, MSG_NOSIGNAL) != sizeof kReady) ::_exit(1);
  const int program = read_order();
  if (program <= 0) ::_exit(0);
  wait_for_death(manager, reference >= 0);
  if (rms.init() < 0) ::_exit(1);
  const auto destroyed =
      destroy_program(rms, program, {std::chrono::milliseconds(0), policy.limit}, system_clock());
  ::_exit(destroyed ? 0 : 1);
}

}  // namespace

Result<UniqueFd> start_watcher(const RmsApi& rms, const EndPolicy& policy) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    return fail_errno(errno, "socket to the watcher");
  }
  UniqueFd orders(ends[0]);
  UniqueFd writer(ends[1]);
  const pid_t manager = ::getpid();
  const UniqueFd reference(open_pidfd(manager));

  // Forked twice, so that the host never meets a child that it does not know.
  const pid_t middle = ::fork();
  if (middle < 0) return fail_errno(errno, "fork of the watcher");
  if (middle == 0) {
    const pid_t watcher = ::fork();
    if (watcher != 0) ::_exit(watcher < 0 ? 1 : 0);
    writer.reset();
    watch(rms, policy, manager, orders.get(), reference.get());
  }
  int status = 0;
  pid_t reaped;
  do {
    reaped = ::waitpid(middle, &status, 0);
  } while (reaped < 0 && errno == EINTR);
  if (reaped == middle && status != 0) return fail_errno(EAGAIN, "fork of the watcher");
  orders.reset();
  // From the answer on the watcher holds none of this process' descriptors.
  char answer = 0;
  ssize_t got;
  do {
    got = ::recv(writer.get(), &answer, sizeof answer, 0);
  } while (got < 0 && errno == EINTR);
  if (got != sizeof answer) return fail_errno(EPIPE, "the watcher ended at once");
  return writer;
}

Result<> give_to_watcher(const UniqueFd& orders, int program) {
  if (::send(orders.get(), &program, sizeof program, MSG_NOSIGNAL) == sizeof program) return {};
  return fail_errno(errno, "watcher of RMS program " + std::to_string(program));
}

}  // namespace hal::elan
