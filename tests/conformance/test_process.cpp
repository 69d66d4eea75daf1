// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/test_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <fstream>
#include <linux/sched.h>
#include <memory>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hal::conformance {
namespace {

constexpr int kSignals = 65;

[[noreturn]] void die(const char* what) {
  std::perror(what);
  ::_exit(99);
}

/// A pipe whose write end only the test holds: its end of file tells everybody else to leave.
class Lifeline {
 public:
  static Lifeline& get() {
    static Lifeline lifeline;
    return lifeline;
  }
  void enter_child() { ::close(ends_[1]); }
  [[nodiscard]] int read_end() const { return ends_[0]; }

 private:
  Lifeline() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) die("pipe2");
    // Orphans of the test's children come to the test and end with it.
    if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) die("prctl");
  }
  int ends_[2];
};

std::array<UniqueFd, 2> make_sockets() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) die("socketpair");
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::atomic<int>* counters = nullptr;

void count_signal(int signal_number) { counters[signal_number].fetch_add(1); }

pid_t fork_as(pid_t wanted) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = reinterpret_cast<std::uintptr_t>(&wanted);
  arguments.set_tid_size = 1;
  return static_cast<pid_t>(::syscall(SYS_clone3, &arguments, sizeof arguments));
}

void* wait_for_leader(void* argument) {
  const std::unique_ptr<std::function<void()>> ready(static_cast<std::function<void()>*>(argument));
  while (process_state(::getpid()) != 'Z') ::sched_yield();
  (*ready)();
  park();
}

}  // namespace

void Channel::send(std::int64_t value) const {
  ssize_t sent = 0;
  do {
    sent = ::send(socket_.get(), &value, sizeof value, MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  if (sent != static_cast<ssize_t>(sizeof value)) die("send to the other end of a test");
}

std::int64_t Channel::receive() const {
  std::int64_t value = 0;
  ssize_t got = 0;
  do {
    got = ::recv(socket_.get(), &value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  if (got != static_cast<ssize_t>(sizeof value)) die("receive from the other end of a test");
  return value;
}

void park() {
  // Not read: thread sanitizers put off signal handlers there.
  pollfd entry{.fd = Lifeline::get().read_end(), .events = POLLIN, .revents = 0};
  while (::poll(&entry, 1, -1) < 0 && errno == EINTR) continue;
  ::_exit(0);
}

pid_t fork_parked() {
  const pid_t pid = ::fork();
  if (pid < 0) die("fork");
  if (pid == 0) park();
  return pid;
}

void leave_only_a_thread(const std::function<void()>& ready) {
  pthread_t thread;
  auto copy = std::make_unique<std::function<void()>>(ready);
  if (::pthread_create(&thread, nullptr, wait_for_leader, copy.get()) != 0) die("pthread_create");
  static_cast<void>(copy.release());
  ::syscall(SYS_exit, 0);  // this thread only, unlike exit_group
  ::abort();
}

TestProcess::TestProcess(const Body& body, pid_t wanted)
    : TestProcess(make_sockets(), body, wanted) {}

TestProcess::TestProcess(std::array<UniqueFd, 2> sockets, const Body& body, pid_t wanted)
    : channel_(std::move(sockets[0])) {
  auto& lifeline = Lifeline::get();
  pid_ = wanted == 0 ? ::fork() : fork_as(wanted);
  if (pid_ < 0 && (wanted == 0 || errno != EPERM)) die("fork");
  if (pid_ != 0) return;
  lifeline.enter_child();
  channel_ = Channel(std::move(sockets[1]));
  if (body) body(channel_);
  park();
}

TestProcess::~TestProcess() {
  if (reaped_ || pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  reap();
}

void TestProcess::wait_for_zombie() const {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT) != 0) {
    if (errno != EINTR) die("waitid");
  }
}

void TestProcess::wait_for_stop() const {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid_), &info, WSTOPPED | WNOWAIT) != 0) {
    if (errno != EINTR) die("waitid");
  }
}

int TestProcess::reap() {
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0) {
    if (errno != EINTR) die("waitpid");
  }
  reaped_ = true;
  return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

bool TestProcess::is_alive() const {
  siginfo_t info{};
  if (reaped_) return false;
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT | WNOHANG) != 0)
    return false;
  return info.si_pid == 0;
}

struct SignalCounts::Shared {
  std::array<std::atomic<int>, kSignals> counts;
};

SignalCounts::SignalCounts() {
  void* memory =
      ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) die("mmap");
  shared_ = new (memory) Shared{};
}

SignalCounts::~SignalCounts() { ::munmap(shared_, sizeof(Shared)); }

void SignalCounts::install() const {
  counters = shared_->counts.data();
  struct sigaction action {};
  action.sa_handler = count_signal;
  action.sa_flags = SA_RESTART;
  ::sigfillset(&action.sa_mask);  // one after the other, in the order of their numbers
  for (int number = 1; number < kSignals; ++number) {
    ::sigaction(number, &action, nullptr);  // KILL, STOP and the C library's own refuse
  }
}

int SignalCounts::of(int signal_number) const {
  return shared_->counts.at(static_cast<std::size_t>(signal_number)).load();
}

int SignalCounts::total() const {
  int sum = 0;
  for (const auto& count : shared_->counts) sum += count.load();
  return sum;
}

bool wait_until(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{20};
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    ::sched_yield();
  }
  return true;
}

char process_state(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(file, text, '\0');
  const auto end = text.rfind(')');
  return end == std::string::npos || end + 2 >= text.size() ? '\0' : text[end + 2];
}

std::vector<int> open_descriptors() {
  std::vector<int> result;
  DIR* directory = ::opendir("/proc/self/fd");
  if (directory == nullptr) die("opendir");
  while (const dirent* entry = ::readdir(directory)) {
    const int fd = std::atoi(entry->d_name);
    if (entry->d_name[0] != '.' && fd != ::dirfd(directory)) result.push_back(fd);
  }
  ::closedir(directory);
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace hal::conformance
