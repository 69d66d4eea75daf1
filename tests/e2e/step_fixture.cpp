// SPDX-License-Identifier: BSD-3-Clause
#include "tests/e2e/step_fixture.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <grp.h>
#include <memory>
#include <poll.h>
#include <sstream>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

namespace backplane_test {
namespace {

constexpr auto kLimit = std::chrono::seconds(60);

std::string stat_fields(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  const auto bracket = text.rfind(')');
  return bracket == std::string::npos ? std::string() : text.substr(bracket + 2);
}

[[noreturn]] void execute(const std::vector<std::string>& arguments,
                          const std::vector<std::string>& environment, uid_t as_user) {
  if (as_user != 0 &&
      (::setgroups(0, nullptr) != 0 || ::setgid(as_user) != 0 || ::setuid(as_user) != 0)) {
    ::_exit(250);
  }
  for (const auto& entry : environment) ::putenv(const_cast<char*>(entry.c_str()));
  std::vector<char*> argv;
  for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(251);
}

}  // namespace

std::multiset<std::string> Ran::lines() const {
  std::multiset<std::string> found;
  std::istringstream text(out);
  for (std::string line; std::getline(text, line);) found.insert(line);
  return found;
}

Running::Running(const std::vector<std::string>& arguments, const std::optional<std::string>& input,
                 const std::vector<std::string>& environment, uid_t as_user)
    : input_(input.value_or("")), deadline_(std::chrono::steady_clock::now() + kLimit) {
  std::array<int, 2> out{};
  std::array<int, 2> err{};
  std::array<int, 2> in{-1, -1};
  EXPECT_EQ(::pipe2(out.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(err.data(), O_CLOEXEC), 0);
  if (input) {
    EXPECT_EQ(::pipe2(in.data(), O_CLOEXEC), 0);
  }
  pid_ = ::fork();
  if (pid_ == 0) {
    ::dup2(input ? in[0] : ::open("/dev/null", O_RDONLY), 0);
    ::dup2(out[1], 1);
    ::dup2(err[1], 2);
    execute(arguments, environment, as_user);
  }
  ::close(out[1]);
  ::close(err[1]);
  out_ = out[0];
  err_ = err[0];
  if (input) {
    ::close(in[0]);
    in_ = in[1];
    ::fcntl(in_, F_SETFL, O_NONBLOCK);
  }
}

Running::~Running() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  for (const int fd : {out_, err_, in_}) {
    if (fd >= 0) ::close(fd);
  }
}

void Running::read_into(int& fd, std::string& text) {
  std::array<char, 65536> buffer;
  const ssize_t size = ::read(fd, buffer.data(), buffer.size());
  if (size > 0) {
    text.append(buffer.data(), static_cast<std::size_t>(size));
  } else if (size == 0 || errno != EINTR) {
    ::close(fd);
    fd = -1;
  }
}

/// One round; false when both streams are closed or time is up.
bool Running::pump() {
  if (in_ >= 0 && input_.empty()) {
    ::close(in_);
    in_ = -1;
  }
  if (out_ < 0 && err_ < 0) return false;
  std::array<pollfd, 3> ready{pollfd{out_, POLLIN, 0}, pollfd{err_, POLLIN, 0},
                              pollfd{in_, POLLOUT, 0}};
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
      deadline_ - std::chrono::steady_clock::now());
  if (left.count() <= 0 ||
      ::poll(ready.data(), ready.size(), static_cast<int>(left.count())) <= 0) {
    ADD_FAILURE() << "no end within a minute; so far: " << ran_.out << ran_.err;
    return false;
  }
  if (ready[0].revents != 0) read_into(out_, ran_.out);
  if (ready[1].revents != 0) read_into(err_, ran_.err);
  if (ready[2].revents != 0) {
    const ssize_t size = ::write(in_, input_.data(), input_.size());
    if (size > 0) {
      input_.erase(0, static_cast<std::size_t>(size));
    } else {
      input_.clear();
    }
  }
  return true;
}

std::string Running::wait_for_lines(std::size_t count) {
  while (static_cast<std::size_t>(std::ranges::count(ran_.out, '\n')) < count) {
    if (!pump()) break;
  }
  return ran_.out;
}

std::string Running::wait_for_error(const std::string& text) {
  while (ran_.err.find(text) == std::string::npos) {
    if (!pump()) {
      ADD_FAILURE() << "no '" << text << "' in: " << ran_.err;
      break;
    }
  }
  return ran_.err;
}

void Running::signal(int number) const { EXPECT_EQ(::kill(pid_, number), 0); }

Ran Running::finish() {
  ::signal(SIGPIPE, SIG_IGN);
  while (pump()) {
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) == pid_) {
    ran_.code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  }
  pid_ = -1;
  return ran_;
}

bool is_running(pid_t pid) {
  const auto fields = stat_fields(pid);
  return !fields.empty() && fields.front() != 'Z' && fields.front() != 'X';
}

bool wait_until_gone(pid_t pid) {
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return true;
  pollfd gone{fd, POLLIN, 0};
  const bool ended = ::poll(&gone, 1, 30'000) > 0;
  ::close(fd);
  return ended;
}

pid_t parent_of(pid_t pid) {
  std::istringstream fields(stat_fields(pid));
  char state = 0;
  pid_t parent = 0;
  fields >> state >> parent;
  return parent;
}

void StepTest::SetUp() {
  std::string pattern = "/tmp/backplane-step-XXXXXX";
  ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
  dir_ = pattern;
}

void StepTest::TearDown() {
  if (!dir_.empty()) std::filesystem::remove_all(dir_);
}

std::unique_ptr<Running> StepTest::start(const std::vector<std::string>& arguments,
                                         const std::optional<std::string>& input) {
  std::vector<std::string> all{BACKPLANE_BIN_DIR "/backplane", "run", "--state-dir", state_dir()};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return std::make_unique<Running>(all, input, environment_, as_user_);
}

Ran StepTest::run(const std::vector<std::string>& arguments,
                  const std::optional<std::string>& input) {
  return start(arguments, input)->finish();
}

Ran StepTest::run_shell(std::vector<std::string> options, const std::string& script,
                        const std::optional<std::string>& input) {
  options.insert(options.end(), {"--", "/bin/sh", "-c", script});
  return run(options, input);
}

std::unique_ptr<Running> StepTest::start_shell(std::vector<std::string> options,
                                               const std::string& script) {
  options.insert(options.end(), {"--", "/bin/sh", "-c", script});
  return start(options);
}

std::string StepTest::read_file(const std::string& path) const {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void StepTest::write_file(const std::string& path, const std::string& text) const {
  std::ofstream(path, std::ios::binary) << text;
}

std::size_t StepTest::ledger_count() const {
  const std::filesystem::path ledgers = state_dir() + "/ledger";
  if (!std::filesystem::exists(ledgers)) return 0;
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(ledgers), {}));
}

}  // namespace backplane_test
