// SPDX-License-Identifier: BSD-3-Clause
#include "host/poller.h"

#include <array>
#include <cerrno>
#include <sys/epoll.h>

namespace hal::host {
namespace {

epoll_event event_for(std::uint32_t events, Pollable& pollable) {
  epoll_event event{};
  event.events = events;
  event.data.ptr = &pollable;
  return event;
}

}  // namespace

Result<Poller> Poller::create() {
  Poller poller;
  poller.fd_.reset(::epoll_create1(EPOLL_CLOEXEC));
  if (!poller.fd_) return fail_errno(errno, "epoll_create1");
  return poller;
}

bool Poller::add(int fd, std::uint32_t events, Pollable& pollable) {
  auto event = event_for(events, pollable);
  return ::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

void Poller::change(int fd, std::uint32_t events, Pollable& pollable) {
  auto event = event_for(events, pollable);
  ::epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Poller::remove(int fd) { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

void Poller::wait(int timeout_ms) {
  // A handler may stop another one of this batch; whoever is watched lives as long as the loop and
  // tolerates a late call.
  std::array<epoll_event, 64> events;
  const int count =
      ::epoll_wait(fd_.get(), events.data(), static_cast<int>(events.size()), timeout_ms);
  for (int index = 0; index < count; ++index) {
    const auto& event = events[static_cast<std::size_t>(index)];
    static_cast<Pollable*>(event.data.ptr)->ready(event.events);
  }
}

}  // namespace hal::host
