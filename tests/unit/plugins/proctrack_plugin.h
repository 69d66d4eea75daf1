// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "plugins/classic/proctrack_api.h"
#include "tests/unit/plugins/test_host.h"

namespace hal::test {

/// A step record as 2.6 lays it out (464 bytes): the years of the proctrack document.
class StepRecord {
 public:
  explicit StepRecord(std::size_t header = 8, std::size_t size = 464)
      : header_(header), block_(host_block(size, header)) {
    put(336, std::int32_t{::getpid()});
  }
  ~StepRecord() { free_host_block(block_, header_); }
  StepRecord(const StepRecord&) = delete;
  StepRecord& operator=(const StepRecord&) = delete;

  template <class T>
  void put(std::size_t offset, T value) {
    std::memcpy(static_cast<std::byte*>(block_) + offset, &value, sizeof value);
  }
  [[nodiscard]] std::uint64_t container() const {
    std::uint64_t id;
    std::memcpy(&id, static_cast<const std::byte*>(block_) + 360, sizeof id);
    return id;
  }
  void forget_container() { put(360, std::uint64_t{0}); }
  void set_group(pid_t group) { put(340, std::int32_t{group}); }
  [[nodiscard]] slurmd_job_t* get() { return static_cast<slurmd_job_t*>(block_); }

 private:
  std::size_t header_;
  void* block_;
};

/// A held task in a group of its own.
class Task {
 public:
  Task() : pid_(::fork()) {
    if (pid_ == 0) {
      ::setpgid(0, 0);
      while (true) ::pause();
    }
    ::setpgid(pid_, pid_);
  }
  ~Task() {
    if (reaped_) return;
    ::kill(pid_, SIGKILL);
    (void)wait_status();
  }
  Task(const Task&) = delete;
  Task& operator=(const Task&) = delete;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int wait_status() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    reaped_ = true;
    return status;
  }

 private:
  pid_t pid_;
  bool reaped_ = false;
};

struct Proctrack : LoadedPlugin {
  explicit Proctrack(std::string prefix)
      : LoadedPlugin("proctrack_pgid.so"), names(std::move(prefix)) {}
  template <class F>
  [[nodiscard]] F call(const char* name) const {
    return get<F>((names + name).c_str());
  }
  std::string names;
  decltype(&proctrack_p_create) create = call<decltype(create)>("create");
  decltype(&proctrack_p_add) add = call<decltype(add)>("add");
  decltype(&proctrack_p_signal) signal = call<decltype(signal)>("signal");
  decltype(&proctrack_p_destroy) destroy = call<decltype(destroy)>("destroy");
  decltype(&proctrack_p_find) find = call<decltype(find)>("find");
  decltype(&proctrack_p_has_pid) has_pid = call<decltype(has_pid)>("has_pid");
  decltype(&proctrack_p_wait) wait = call<decltype(wait)>("wait");
  decltype(&proctrack_p_get_pids) get_pids = call<decltype(get_pids)>("get_pids");
};

}  // namespace hal::test
