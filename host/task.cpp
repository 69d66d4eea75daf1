// SPDX-License-Identifier: BSD-3-Clause
#include "host/task.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include "host/step_env.h"

namespace hal::host {
namespace {

constexpr int kCannotExecute = 126;
constexpr int kNotFound = 127;

[[noreturn]] void give_up(const MessageSocket& report, std::uint32_t local_id, Stage stage,
                          int error, const std::string& text, int status) {
  Problem problem{.local_id = local_id, .stage = stage, .error_number = error};
  problem.set_text(text);
  report.send(MessageKind::problem, problem);
  ::_exit(status);
}

bool wait_for_go(int go_read) {
  char byte = 0;
  ssize_t size;
  do {
    size = ::read(go_read, &byte, 1);
  } while (size < 0 && errno == EINTR);
  return size == 1;
}

/// As the program would find them if a shell started it: nothing ignored that the launcher only
/// ignores for itself, nothing blocked.
void restore_process(const LaunchState& launch) {
  if (launch.open_files) (void)::setrlimit(RLIMIT_NOFILE, &*launch.open_files);
  (void)::signal(SIGPIPE, SIG_DFL);
  (void)::signal(SIGTTIN, SIG_DFL);
  ::sigprocmask(SIG_SETMASK, &launch.signal_mask, nullptr);
}

bool place_stream(int from, int to) {
  if (from == kInherit) return true;
  if (from == kNullDevice) {
    const int fd = ::open("/dev/null", to == 0 ? O_RDONLY : O_WRONLY);
    if (fd < 0) return false;
    if (fd == to) return true;
    const bool placed = ::dup2(fd, to) == to;
    ::close(fd);
    return placed;
  }
  return ::dup2(from, to) == to;
}

/// Tries every directory of PATH as a shell does; returns the errno that explains the failure.
int execute(char* const* arguments, ClassicEnv& env) {
  const std::string program = arguments[0];
  if (program.find('/') != std::string::npos) {
    ::execve(program.c_str(), arguments, env.array());
    return errno;
  }
  const char* const path = env.get("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/bin:/usr/bin";
  int reason = ENOENT;
  while (true) {
    const auto colon = rest.find(':');
    std::string file(rest.substr(0, colon));
    if (!file.empty()) file += '/';
    file += program;
    ::execve(file.c_str(), arguments, env.array());
    if (errno == EACCES) reason = EACCES;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) return errno;
    if (colon == std::string_view::npos) return reason;
    rest.remove_prefix(colon + 1);
  }
}

}  // namespace

std::uint64_t monotonic_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

Result<> TaskSet::spawn(NodeStep& node, const MessageSocket& report, int go_read, int go_write) {
  const auto count = node.task_count();
  births_.reserve(count);
  running_.reserve(count);
  // Made before the forks: each task only replaces what is its own.
  ClassicEnv env(node.request.environment);
  std::vector<char*> arguments;
  arguments.reserve(node.request.command.size() + 1);
  for (const auto& argument : node.request.command) {
    arguments.push_back(const_cast<char*>(argument.c_str()));
  }
  arguments.push_back(nullptr);
  for (std::uint32_t local = 0; local < count; ++local) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      return fail(Errc::exhausted, errno,
                  "fork of task " + std::to_string(local) + " of " + std::to_string(count) + ": " +
                      std::strerror(errno));
    }
    if (pid == 0) {
      if (go_write >= 0) ::close(go_write);
      run_task(node, local, report, go_read, env, arguments.data());
    }
    births_.push_back({.pid = pid});
    running_.emplace(pid, local);
    // Held tasks cannot have executed anything yet, so this cannot fail for a live one.
    (void)::setpgid(pid, births_.front().pid);
  }
  node.stdio = {};
  return {};
}

std::optional<TaskEnd> TaskSet::note_end(pid_t pid, int wait_status, const rusage& usage) {
  const auto found = running_.find(pid);
  if (found == running_.end()) return std::nullopt;
  const auto micros = [](const timeval& time) {
    return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000U +
           static_cast<std::uint64_t>(time.tv_usec);
  };
  const TaskEnd end{.local_id = found->second,
                    .pid = pid,
                    .wait_status = wait_status,
                    .max_rss_kib = static_cast<std::uint64_t>(usage.ru_maxrss),
                    .user_us = micros(usage.ru_utime),
                    .system_us = micros(usage.ru_stime),
                    .end_ns = monotonic_ns()};
  running_.erase(found);
  return end;
}

void run_task(NodeStep& node, std::uint32_t local_id, const MessageSocket& report, int go_read,
              ClassicEnv& env, char* const* arguments) {
  node.plugins.trace->set_process(ProcessRole::task, node.name(),
                                  static_cast<std::int32_t>(local_id));
  const auto& request = node.request;
  if (!wait_for_go(go_read)) ::_exit(1);
  if (node.late()) {
    if (auto user = become(request.owner); !user) {
      give_up(report, local_id, Stage::become_user, user.error().code, user.error().detail, 1);
    }
    if (::chdir(request.working_directory.c_str()) != 0) {
      give_up(report, local_id, Stage::change_directory, errno,
              "directory '" + request.working_directory + "': " + std::strerror(errno), 1);
    }
  }
  restore_process(node.launch);
  if (node.late()) set_slurm_variables(env, node, local_id);
  const auto rank = request.layout.rank_of(node.index, local_id);
  if (traced(node.plugins, "switch_p_job_attach", node.plugins.interconnect->job_attach,
             node.credential, env.handle(), node.index, local_id, request.layout.node_count(),
             request.layout.task_count(), rank) < 0) {
    const int error = errno;
    give_up(report, local_id, Stage::attach, error, node.switch_failure("job_attach", error), 1);
  }
  if (!node.late()) set_slurm_variables(env, node, local_id);
  for (int stream = 0; stream < 3; ++stream) {
    if (!place_stream(node.stdio.tasks[local_id][static_cast<std::size_t>(stream)], stream)) {
      give_up(report, local_id, Stage::stdio, errno,
              std::string("standard streams: ") + std::strerror(errno), 1);
    }
  }
  const int reason = execute(arguments, env);
  const bool absent = reason == ENOENT || reason == ENOTDIR;
  give_up(report, local_id, Stage::exec, reason,
          "cannot run '" + request.command.front() + "': " + std::strerror(reason),
          absent ? kNotFound : kCannotExecute);
}

}  // namespace hal::host
