// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <chrono>
#include <cstdint>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace backplane_test {

/// How a command ended.
struct Ran {
  int code = -1;  ///< exit code, or 128 and the signal
  std::string out;
  std::string err;

  [[nodiscard]] std::multiset<std::string> lines() const;
};

/// A command that runs; its standard output and error are collected until they close, which proves
/// that nobody holds them any more.
class Running {
 public:
  /// `arguments[0]` is the file. `input` becomes its standard input; nothing: /dev/null.
  Running(const std::vector<std::string>& arguments, const std::optional<std::string>& input,
          const std::vector<std::string>& environment, uid_t as_user = 0);
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  ~Running();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  /// Waits until the output holds `count` whole lines, and gives all of it so far.
  std::string wait_for_lines(std::size_t count);
  std::string wait_for_error(const std::string& text);

  void signal(int number) const;

  /// Waits for the end of the process and of its streams.
  Ran finish();

 private:
  bool pump();
  void read_into(int& fd, std::string& text);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  int in_ = -1;
  std::string input_;
  Ran ran_;
  std::chrono::steady_clock::time_point deadline_;
};

/// True while the process is there and no zombie.
bool is_running(pid_t pid);

/// Waits until it is not; false after 30 s.
bool wait_until_gone(pid_t pid);

pid_t parent_of(pid_t pid);

/// A directory of its own for each test, and the real command.
class StepTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  [[nodiscard]] const std::string& dir() const noexcept { return dir_; }
  [[nodiscard]] std::string state_dir() const { return dir_ + "/state"; }

  /// `backplane run --state-dir ... <arguments>`.
  Ran run(const std::vector<std::string>& arguments,
          const std::optional<std::string>& input = std::nullopt);
  std::unique_ptr<Running> start(const std::vector<std::string>& arguments,
                                 const std::optional<std::string>& input = std::nullopt);

  /// A line of the shell, after the options, as the step's program.
  Ran run_shell(std::vector<std::string> options, const std::string& script,
                const std::optional<std::string>& input = std::nullopt);
  std::unique_ptr<Running> start_shell(std::vector<std::string> options, const std::string& script);

  [[nodiscard]] std::string read_file(const std::string& path) const;
  void write_file(const std::string& path, const std::string& text) const;
  [[nodiscard]] std::size_t ledger_count() const;

  std::vector<std::string> environment_;  ///< added to this process's own
  uid_t as_user_ = 0;                     ///< not 0: the command runs as that user

 private:
  std::string dir_;
};

}  // namespace backplane_test
