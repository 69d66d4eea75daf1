// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_manager.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <utility>

#include "host/descendants.h"
#include "host/session.h"

namespace hal::host {
namespace {

constexpr std::uint16_t kNoSpecializedCores = 0xfffe;

}  // namespace

int StepManager::run() {
  (void)::setsid();
  node_.enter(node_.late() ? ProcessRole::step_manager : ProcessRole::job_manager);
  if (auto adopting = adopt_orphans(); !adopting) {
    report(Stage::fork_session, adopting.error().detail, adopting.error().code);
  }
  sigset_t children;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  signals_.reset(::signalfd(-1, &children, SFD_CLOEXEC | SFD_NONBLOCK));
  node_.make_records();
  if (prepare() && make_tracker() && set_up_streams() &&
      (node_.late() ? start_tasks() : start_session())) {
    loop();
  }
  finish();
  return failed_ ? 1 : 0;
}

void StepManager::report(Stage stage, const std::string& text, int error) {
  Problem problem{.stage = stage, .error_number = error};
  problem.set_text(text);
  control_.send(MessageKind::problem, problem);
  if (stage != Stage::note) failed_ = true;
}

bool StepManager::prepare() {
  auto& plugins = node_.plugins;
  (void)traced(plugins, "slurmd_jobacct_init", plugins.jobacct->node_init,
               plugins.jobacct_parameters.data());
  if (auto unpacked = node_.unpack_credential(); !unpacked) {
    report(Stage::unpack, unpacked.error().detail, unpacked.error().code);
    return false;
  }
  if (traced(plugins, "container_p_create", plugins.job_container->create, to_number(node_.job)) !=
      0) {
    report(Stage::container,
           plugins.job_container.plugin().type() + ": create: " + std::strerror(errno), errno);
    return false;
  }
  if (traced(plugins, "switch_p_job_preinit", plugins.interconnect->job_preinit, node_.credential) <
      0) {
    const int error = errno;
    report(Stage::preinit, node_.switch_failure("job_preinit", error), error);
    return false;
  }
  postfini_due_ = true;
  return true;
}

bool StepManager::make_tracker() {
  auto& plugins = node_.plugins;
  auto& record = node_.proctrack_record();
  if (traced(plugins, "slurm_container_plugin_create", plugins.proctrack->create,
             record.handle()) != 0) {
    report(Stage::track, plugins.proctrack.plugin().type() + ": create: " + std::strerror(errno),
           errno);
    return false;
  }
  container_id_ = record.container_id();
  return true;
}

bool StepManager::set_up_streams() {
  auto opened =
      open_node_files(node_.request, plan_, node_.job, node_.step, node_.index, node_.stdio);
  if (!opened) {
    report(Stage::io, opened.error().detail, opened.error().code);
    return false;
  }
  (void)traced(node_.plugins, "slurmd_jobacct_jobstep_launched",
               node_.plugins.jobacct->jobstep_launched, node_.jobacct_record().handle());
  return true;
}

bool StepManager::make_go_pipe() {
  int ends[2];
  auto sockets = MessageSocket::make_pair();
  if (!sockets || ::pipe2(ends, O_CLOEXEC) != 0) {
    report(Stage::fork_session, std::string("pipes for the tasks: ") + std::strerror(errno), errno);
    return false;
  }
  go_read_.reset(ends[0]);
  go_write_.reset(ends[1]);
  reports_ = std::move(sockets->first);
  reporting_ = std::move(sockets->second);
  return true;
}

bool StepManager::start_session() {
  if (!make_go_pipe()) return false;
  session_ = ::fork();
  if (session_ < 0) {
    session_ = 0;
    report(Stage::fork_session, std::string("fork of the session: ") + std::strerror(errno), errno);
    return false;
  }
  if (session_ == 0) {
    control_.close();
    reports_.close();
    Session session(node_, reporting_, go_read_.get(), go_write_.get());
    ::_exit(static_cast<int>(session.run()));
  }
  session_running_ = true;
  reporting_.close();
  go_read_.reset();
  node_.stdio = {};
  return true;
}

bool StepManager::start_tasks() {
  if (!make_go_pipe()) return false;
  auto started = open_interconnect(node_);
  if (!started) {
    report(Stage::init, started.error().detail, started.error().code);
    return false;
  }
  opened_ = true;
  note_helpers();
  started = tasks_.spawn(node_, reporting_, go_read_.get(), go_write_.get());
  go_read_.reset();
  ready_ = {.session_pid = ::getpid(), .process_group = tasks_.process_group()};
  births_.assign(tasks_.births().begin(), tasks_.births().end());
  task_ended_.assign(births_.size(), false);
  if (!started) {
    report(Stage::fork_tasks, started.error().detail, started.error().code);
    go_write_.reset();
    return true;  // the tasks that exist end by themselves
  }
  (void)traced(node_.plugins, "slurmd_jobacct_smgr", node_.plugins.jobacct->smgr);
  track_and_release();
  return true;
}

void StepManager::accept_births(const Message& message) {
  // A session runs as the user: what it names is taken only if it is its child.
  for (const auto& birth : message.list<TaskBirth>()) {
    const auto facts = birth.pid > 1 ? process_facts(birth.pid) : std::nullopt;
    if (births_.size() >= node_.task_count() || !facts || facts->parent != session_) return;
    births_.push_back({.pid = birth.pid, .start_time = facts->start_time});
  }
  if (births_.size() != node_.task_count() || released_) return;
  ready_.process_group = births_.front().pid;
  task_ended_.assign(births_.size(), false);
  track_and_release();
}

/// While the tasks are held, whoever else is a child here was forked by a plugin: it waits for the
/// manager's end to clean up after it, so it is neither killed nor counted as an escapee.
void StepManager::note_helpers() {
  std::vector<TaskBirth> found;
  for (const auto& child : children()) {
    const bool task = std::ranges::any_of(
        births_, [&](const TaskBirth& birth) { return birth.pid == child.pid; });
    if (child.pid == session_ || task || child.dead()) continue;
    helpers_.push_back(child.pid);
    found.push_back({.pid = child.pid, .start_time = child.start_time});
  }
  if (!found.empty()) control_.send_list(MessageKind::helpers, std::span<const TaskBirth>(found));
}

void StepManager::track_and_release() {
  released_ = true;
  if (!node_.late()) note_helpers();
  if (!track()) {
    kill_everything();
    go_write_.reset();
    return;
  }
  for (auto& birth : births_) {
    if (birth.start_time != 0) continue;
    const auto facts = process_facts(birth.pid);
    birth.start_time = facts ? facts->start_time : 0;
  }
  ready_.container_id = container_id_;
  control_.send(MessageKind::session_ready, ready_);
  control_.send_list(MessageKind::tasks, std::span<const TaskBirth>(births_));
  const std::vector<char> go(births_.size(), 'g');
  (void)!::write(go_write_.get(), go.data(), go.size());
  go_write_.reset();
}

bool StepManager::track() {
  auto& plugins = node_.plugins;
  auto& record = node_.proctrack_record();
  record.set_process_group(ready_.process_group);
  node_.jobacct_record().set_process_group(ready_.process_group);
  for (const auto& birth : births_) {
    if (traced(plugins, "slurm_container_plugin_add", plugins.proctrack->add, record.handle(),
               birth.pid) != 0) {
      const int error = errno;
      report(Stage::track,
             plugins.proctrack.plugin().type() + ": add of process " + std::to_string(birth.pid) +
                 ": " + std::strerror(error),
             error);
      return false;
    }
  }
  container_id_ = record.container_id();
  node_.jobacct_record().set_container_id(container_id_);
  if (traced(plugins, "container_p_add_cont", plugins.job_container->add_cont, to_number(node_.job),
             container_id_) != 0) {
    report(Stage::note,
           plugins.job_container.plugin().type() + ": add_cont: " + std::strerror(errno), errno);
  }
  if (traced(plugins, "core_spec_p_set", plugins.core_spec->set, container_id_,
             kNoSpecializedCores) != 0) {
    report(Stage::note, plugins.core_spec.plugin().type() + ": set: " + std::strerror(errno),
           errno);
  }
  return true;
}

}  // namespace hal::host
