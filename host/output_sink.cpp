// SPDX-License-Identifier: BSD-3-Clause
#include "host/output_sink.h"

#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <climits>

namespace hal::host {

OutputSink::OutputSink(Poller& poller, int fd) : poller_(&poller), fd_(fd) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    dead_ = true;
    return;
  }
  if (S_ISREG(status.st_mode)) return;
  if (S_ISFIFO(status.st_mode)) {
    const auto path = "/proc/self/fd/" + std::to_string(fd);
    own_.reset(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY));
    if (own_) {
      fd_ = own_.get();
      return;
    }
  }
  piecewise_ = true;
}

OutputSink::OutputSink(Poller& poller, UniqueFd fd)
    : poller_(&poller), own_(std::move(fd)), fd_(own_.get()) {}

void OutputSink::write(std::string_view text) {
  if (dead_) return;
  if (waiting_.empty()) {
    const auto done = write_some(text);
    if (dead_) return;
    if (done > 0) text.remove_prefix(static_cast<std::size_t>(done));
    if (text.empty()) return;
  }
  waiting_.append(text);
  watch(true);
}

void OutputSink::ready(std::uint32_t) { drain(); }

std::ptrdiff_t OutputSink::write_some(std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    auto part = text.substr(done);
    if (piecewise_) {
      pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
      if (::poll(&room, 1, 0) <= 0) break;
      part = part.substr(0, PIPE_BUF);
    }
    const ssize_t size = ::write(fd_, part.data(), part.size());
    if (size >= 0) {
      done += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno != EINTR) {
      dead_ = true;
      return -1;
    }
  }
  return static_cast<std::ptrdiff_t>(done);
}

void OutputSink::drain() {
  const auto done = write_some(std::string_view(waiting_).substr(sent_));
  if (done > 0) sent_ += static_cast<std::size_t>(done);
  if (dead_ || sent_ == waiting_.size()) {
    waiting_.clear();
    sent_ = 0;
    watch(false);
  } else if (sent_ > kCongested) {
    waiting_.erase(0, sent_);
    sent_ = 0;
  }
}

void OutputSink::watch(bool on) {
  if (on == watched_) return;
  watched_ = on && poller_->add(fd_, EPOLLOUT, *this);
  if (!on) poller_->remove(fd_);
}

void OutputSink::finish() {
  while (!dead_ && sent_ < waiting_.size()) {
    pollfd room{.fd = fd_, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, -1) < 0 && errno != EINTR) break;
    drain();
  }
}

}  // namespace hal::host
