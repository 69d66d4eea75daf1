// SPDX-License-Identifier: BSD-3-Clause
#include "host/session.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "host/descendants.h"

namespace hal::host {

Result<> open_interconnect(NodeStep& node) {
  if (traced(node.plugins, "switch_p_job_init", node.plugins.interconnect->job_init,
             node.credential, node.request.owner.uid) < 0) {
    const int error = errno;
    return fail(kind_of_errno(error), error, node.switch_failure("job_init", error));
  }
  return {};
}

void account_task_end(NodeStep& node, pid_t pid, int wait_status, rusage& usage) {
  (void)traced(node.plugins, "slurmd_jobacct_task_exit", node.plugins.jobacct->task_exit,
               node.jobacct_record().handle(), pid, wait_status, &usage);
}

SessionExit Session::run() {
  ::close(go_write_);
  node_.enter(ProcessRole::session_manager);
  if (const auto status = start(); status != SessionExit::done) return status;
  (void)traced(node_.plugins, "slurmd_jobacct_smgr", node_.plugins.jobacct->smgr);
  wait_for_tasks();
  return leave();
}

SessionExit Session::refuse(SessionExit status, Stage stage, const std::string& text, int error) {
  Problem problem{.stage = stage, .error_number = error};
  problem.set_text(text);
  report_.send(MessageKind::problem, problem);
  return status;
}

SessionExit Session::start() {
  if (auto opened = open_interconnect(node_); !opened) {
    return refuse(SessionExit::interconnect, Stage::init, opened.error().detail,
                  opened.error().code);
  }
  const auto& request = node_.request;
  if (auto user = become(request.owner); !user) {
    return refuse(SessionExit::become_user, Stage::become_user, user.error().detail,
                  user.error().code);
  }
  if (::setsid() < 0) {
    return refuse(SessionExit::set_session, Stage::set_session,
                  std::string("setsid: ") + std::strerror(errno), errno);
  }
  if (::chdir(request.working_directory.c_str()) != 0) {
    return refuse(SessionExit::change_directory, Stage::change_directory,
                  "directory '" + request.working_directory + "': " + std::strerror(errno), errno);
  }
  auto spawned = tasks_.spawn(node_, report_, go_read_, -1);
  ::close(go_read_);
  if (!spawned) {
    return refuse(SessionExit::fork_tasks, Stage::fork_tasks, spawned.error().detail,
                  spawned.error().code);
  }
  report_.send(MessageKind::session_ready,
               SessionReady{.session_pid = ::getpid(), .process_group = tasks_.process_group()});
  report_.send_list(MessageKind::tasks, tasks_.births());
  return SessionExit::done;
}

void Session::wait_for_tasks() {
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  const UniqueFd signals(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  reap();
  while (tasks_.running() > 0) {
    std::array<pollfd, 2> waiting{
        pollfd{.fd = signals.get(), .events = POLLIN, .revents = 0},
        pollfd{.fd = manager_gone_ ? -1 : report_.fd(), .events = POLLIN, .revents = 0}};
    (void)::poll(waiting.data(), waiting.size(), -1);
    signalfd_siginfo ignored;
    while (::read(signals.get(), &ignored, sizeof ignored) > 0) {
    }
    reap();
    Message message;
    if (!manager_gone_ && report_.receive(message) == MessageSocket::Receive::closed) {
      manager_gone_ = true;
      ::kill(-tasks_.process_group(), SIGKILL);
      for (const auto& task : tasks_.births()) {
        if (tasks_.is_running(task.pid)) ::kill(task.pid, SIGKILL);
      }
    }
  }
}

void Session::reap() {
  std::vector<TaskEnd> ended;
  while (auto child = reap_child()) {
    if (auto end = tasks_.note_end(child->pid, child->wait_status, child->usage)) {
      account_task_end(node_, child->pid, child->wait_status, child->usage);
      ended.push_back(*end);
    }
  }
  if (!ended.empty()) report_.send_list(MessageKind::ended, std::span<const TaskEnd>(ended));
}

SessionExit Session::leave() {
  if (traced(node_.plugins, "switch_p_job_fini", node_.plugins.interconnect->job_fini,
             node_.credential) < 0) {
    const int error = errno;
    return refuse(SessionExit::interconnect, Stage::fini, node_.switch_failure("job_fini", error),
                  error);
  }
  return SessionExit::done;
}

}  // namespace hal::host
