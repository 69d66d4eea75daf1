// SPDX-License-Identifier: BSD-3-Clause
#include "host/signals.h"

#include <cerrno>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace hal::host {

Result<> SignalSource::open(Poller& poller, sigset_t& before) {
  sigset_t taken;
  sigemptyset(&taken);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP}) {
    struct sigaction action {};
    ::sigaction(signal, nullptr, &action);
    if (action.sa_handler != SIG_IGN) sigaddset(&taken, signal);
  }
  sigset_t blocked = taken;
  sigaddset(&blocked, SIGCHLD);
  (void)::signal(SIGCHLD, SIG_DFL);
  (void)::signal(SIGPIPE, SIG_IGN);
  (void)::signal(SIGTTIN, SIG_IGN);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
  fd_.reset(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_ || !poller.add(fd_.get(), EPOLLIN, *this)) return fail_errno(errno, "signalfd");
  return {};
}

void SignalSource::ready(std::uint32_t) {
  signalfd_siginfo info;
  while (fd_ && ::read(fd_.get(), &info, sizeof info) == sizeof info) {
    handler_(static_cast<int>(info.ssi_signo));
  }
}

}  // namespace hal::host
