// SPDX-License-Identifier: BSD-3-Clause
#include "host/input_pump.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace hal::host {

void InputPump::add_task(std::uint32_t rank, UniqueFd fd) {
  auto task = std::make_unique<Task>();
  task->pump = this;
  task->rank = rank;
  task->fd = std::move(fd);
  tasks_.push_back(std::move(task));
  ++live_;
}

void InputPump::drop_task(std::uint32_t rank) {
  for (auto& task : tasks_) {
    if (task->rank == rank && task->fd) close_task(*task);
  }
  shrink();
  update_source();
}

void InputPump::start() {
  source_open_ = true;
  if (poller_->add(source_, EPOLLIN, *this)) {
    source_watched_ = true;
  } else {
    always_ready_ = true;
  }
}

bool InputPump::wants_turn() const noexcept {
  return always_ready_ && source_open_ && live_ > 0 && window_.size() < kWindow;
}

void InputPump::ready(std::uint32_t) {
  if (!source_open_) return;
  std::array<char, std::size_t{64} << 10> buffer;
  const ssize_t size = ::read(source_, buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) {
    source_open_ = false;
  } else {
    window_.append(buffer.data(), static_cast<std::size_t>(size));
  }
  feed_all();
}

void InputPump::feed_all() {
  for (auto& task : tasks_) {
    if (task->fd && !task->watched) feed(*task);
  }
  shrink();
  update_source();
}

void InputPump::feed(Task& task) {
  while (task.offset < window_.size()) {
    const ssize_t size =
        ::write(task.fd.get(), window_.data() + task.offset, window_.size() - task.offset);
    if (size >= 0) {
      task.offset += static_cast<std::size_t>(size);
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      if (!task.watched) task.watched = poller_->add(task.fd.get(), EPOLLOUT, task);
      return;
    } else if (errno != EINTR) {
      close_task(task);
      return;
    }
  }
  if (task.watched) poller_->remove(task.fd.get());
  task.watched = false;
  if (!source_open_) close_task(task);
}

void InputPump::Task::ready(std::uint32_t) {
  if (!fd) return;
  pump->feed(*this);
  pump->shrink();
  pump->update_source();
}

void InputPump::close_task(Task& task) {
  if (task.watched) poller_->remove(task.fd.get());
  task.watched = false;
  task.fd.reset();
  --live_;
}

void InputPump::shrink() {
  std::size_t done = window_.size();
  for (const auto& task : tasks_) {
    if (task->fd) done = std::min(done, task->offset);
  }
  if (done < window_.size() && done < kWindow / 4) return;
  window_.erase(0, done);
  for (auto& task : tasks_) {
    if (task->fd) task->offset -= done;
  }
}

void InputPump::update_source() {
  if (always_ready_) return;
  const bool want = source_open_ && live_ > 0 && window_.size() < kWindow;
  if (want == source_watched_) return;
  if (want) {
    source_watched_ = poller_->add(source_, EPOLLIN, *this);
  } else {
    poller_->remove(source_);
    source_watched_ = false;
  }
}

void InputPump::close_all() noexcept {
  for (auto& task : tasks_) task->fd.reset();
}

}  // namespace hal::host
