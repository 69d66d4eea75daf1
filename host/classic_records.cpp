// SPDX-License-Identifier: BSD-3-Clause
#include "host/classic_records.h"

#include <algorithm>
#include <cstring>

namespace hal::host {
namespace {

constexpr std::int16_t kNone = -1;
constexpr std::size_t kDetailsSize = 256;  // at least what any release's job_details has in use
constexpr std::uint16_t kJobAcctData = 8003;

// Source: classic ABI 5.1, columns 0.5.0, 1.0.x and 2.6.9.
constexpr StepRecordOffsets kStep_0_5_0 = {.size = 168,
                                           .job_id = 0,
                                           .step_id = 4,
                                           .node_count = 8,
                                           .step_tasks = 12,
                                           .node_id = 16,
                                           .node_tasks = 20,
                                           .cpus = 28,
                                           .argc = 30,
                                           .env = 32,
                                           .argv = 40,
                                           .cwd = 48,
                                           .node_name = kNone,
                                           .switch_job = 56,
                                           .uid = 64,
                                           .gid = 68,
                                           .batch = 72,
                                           .task = 96,
                                           .manager_pid = 136,
                                           .process_group = kNone,
                                           .session_pid = 140,
                                           .session_status = 144,
                                           .container_id = kNone,
                                           .container_id_size = 0,
                                           .argc_size = 2};
constexpr StepRecordOffsets kStep_1_0 = {.size = 304,
                                         .job_id = 4,
                                         .step_id = 8,
                                         .node_count = 12,
                                         .step_tasks = 16,
                                         .node_id = 20,
                                         .node_tasks = 24,
                                         .cpus = 32,
                                         .argc = 34,
                                         .env = 40,
                                         .argv = 48,
                                         .cwd = 56,
                                         .node_name = kNone,
                                         .switch_job = 80,
                                         .uid = 88,
                                         .gid = 92,
                                         .batch = 112,
                                         .task = 152,
                                         .manager_pid = 264,
                                         .process_group = 268,
                                         .session_pid = kNone,
                                         .session_status = kNone,
                                         .container_id = 288,
                                         .container_id_size = 4,
                                         .argc_size = 2};
constexpr StepRecordOffsets kStep_2_6 = {.size = 464,
                                         .job_id = 4,
                                         .step_id = 8,
                                         .node_count = 20,
                                         .step_tasks = 24,
                                         .node_id = 28,
                                         .node_tasks = 32,
                                         .cpus = 52,
                                         .argc = 56,
                                         .env = 64,
                                         .argv = 72,
                                         .cwd = 80,
                                         .node_name = 96,
                                         .switch_job = 144,
                                         .uid = 152,
                                         .gid = 156,
                                         .batch = 177,
                                         .task = 224,
                                         .manager_pid = 336,
                                         .process_group = 340,
                                         .session_pid = kNone,
                                         .session_status = kNone,
                                         .container_id = 360,
                                         .container_id_size = 8,
                                         .argc_size = 4};

// Source: classic ABI 5.2.
constexpr JobRecordOffsets kJob_0_5 = {.size = 528,
                                       .job_id = 0,
                                       .name = 8,
                                       .partition = 264,
                                       .batch_flag = 304,
                                       .user_id = 308,
                                       .group_id = 312,
                                       .job_state = 316,
                                       .nodes = 336,
                                       .task_count = 352,
                                       .time_limit = 356,
                                       .start_time = 360,
                                       .end_time = 368,
                                       .priority = 384,
                                       .details = 392,
                                       .cpu_group_count = 400,
                                       .cpus_per_node = 408,
                                       .cpu_count_reps = 416,
                                       .node_count = 442,
                                       .account = 480,
                                       .network = 496,
                                       .details_task_count = 104,
                                       .details_submit_time = 112,
                                       .details_begin_time = kNone};
constexpr JobRecordOffsets kJob_1_0_16 = {.size = 568,
                                          .job_id = 0,
                                          .name = 8,
                                          .partition = 264,
                                          .batch_flag = 304,
                                          .user_id = 308,
                                          .group_id = 312,
                                          .job_state = 316,
                                          .nodes = 336,
                                          .task_count = 360,
                                          .time_limit = 364,
                                          .start_time = 368,
                                          .end_time = 376,
                                          .priority = 408,
                                          .details = 416,
                                          .cpu_group_count = 424,
                                          .cpus_per_node = 432,
                                          .cpu_count_reps = 440,
                                          .node_count = 466,
                                          .account = 504,
                                          .network = 520,
                                          .details_task_count = 104,
                                          .details_submit_time = 112,
                                          .details_begin_time = 120};

/// Writes members of a record by offset; members that the layout lacks are passed over.
class Members {
 public:
  explicit Members(void* block) : block_(static_cast<std::byte*>(block)) {}

  template <class T>
  void put(std::int16_t offset, T value) noexcept {
    if (offset >= 0) std::memcpy(block_ + offset, &value, sizeof value);
  }

  template <class T>
  [[nodiscard]] T get(std::int16_t offset) const noexcept {
    T value{};
    if (offset >= 0) std::memcpy(&value, block_ + offset, sizeof value);
    return value;
  }

  void put_text(std::int16_t offset, std::size_t room, std::string_view text) noexcept {
    std::memcpy(block_ + offset, text.data(), std::min(text.size(), room - 1));
  }

  /// A host-allocated copy, or NULL for an empty text.
  void put_copy(std::int16_t offset, std::string_view text) {
    if (offset >= 0 && !text.empty()) put(offset, host_copy(text));
  }

 private:
  std::byte* block_;
};

char** copy_arguments(const std::vector<std::string>& arguments) {
  auto** const argv = static_cast<char**>(host_alloc((arguments.size() + 1) * sizeof(char*)));
  std::transform(arguments.begin(), arguments.end(), argv,
                 [](const std::string& argument) { return host_copy(argument); });
  return argv;
}

}  // namespace

const StepRecordOffsets& offsets_of(StepRecordLayout layout) noexcept {
  switch (layout) {
    case StepRecordLayout::v0_5_0:
      return kStep_0_5_0;
    case StepRecordLayout::v1_0:
      return kStep_1_0;
    case StepRecordLayout::v2_6:
      break;
  }
  return kStep_2_6;
}

const JobRecordOffsets& offsets_of(JobRecordLayout layout) noexcept {
  return layout == JobRecordLayout::v0_5 ? kJob_0_5 : kJob_1_0_16;
}

StepRecord::StepRecord(StepRecordLayout layout, const StepFacts& facts)
    : layout_(layout), block_(host_alloc(static_cast<std::size_t>(offsets_of(layout).size))) {
  const StepRecordOffsets& at = offsets_of(layout);
  Members record(block_.get());
  record.put(at.job_id, facts.job_id);
  record.put(at.step_id, facts.step_id);
  record.put(at.node_count, facts.node_count);
  record.put(at.step_tasks, facts.step_tasks);
  record.put(at.node_id, facts.node_id);
  record.put(at.node_tasks, facts.node_tasks);
  record.put(at.cpus, facts.cpus);
  if (at.argc_size == 4) {
    record.put(at.argc, static_cast<std::uint32_t>(facts.arguments.size()));
  } else {
    record.put(at.argc, static_cast<std::uint16_t>(facts.arguments.size()));
  }
  record.put(at.argv, copy_arguments(facts.arguments));
  record.put_copy(at.cwd, facts.working_directory);
  record.put_copy(at.node_name, facts.node_name);
  record.put(at.uid, facts.uid);
  record.put(at.gid, facts.gid);
  record.put(at.batch, facts.batch);
  record.put(at.manager_pid, facts.manager_pid);
  record.put(at.process_group, facts.process_group);
  record.put(at.session_status, std::int32_t{-1});
}

StepRecord& StepRecord::operator=(StepRecord&& other) noexcept {
  if (this == &other) return *this;
  release();
  layout_ = other.layout_;
  block_ = std::move(other.block_);
  return *this;
}

StepRecord::~StepRecord() { release(); }

void StepRecord::release() noexcept {
  if (!block_) return;
  const StepRecordOffsets& at = offsets_of(layout_);
  const Members record(block_.get());
  char** const argv = record.get<char**>(at.argv);
  for (char** argument = argv; *argument != nullptr; ++argument) host_free(*argument);
  host_free(argv);
  host_free(record.get<char*>(at.cwd));
  host_free(record.get<char*>(at.node_name));
  block_.reset();
}

std::uint64_t StepRecord::container_id() const noexcept {
  const StepRecordOffsets& at = offsets_of(layout_);
  const Members record(block_.get());
  return at.container_id_size == 8 ? record.get<std::uint64_t>(at.container_id)
                                   : record.get<std::uint32_t>(at.container_id);
}

void StepRecord::set_container_id(std::uint64_t id) noexcept {
  const StepRecordOffsets& at = offsets_of(layout_);
  Members record(block_.get());
  if (at.container_id_size == 8) {
    record.put(at.container_id, id);
  } else {
    record.put(at.container_id, static_cast<std::uint32_t>(id));
  }
}

void StepRecord::set_manager_pid(pid_t pid) noexcept {
  Members(block_.get()).put(offsets_of(layout_).manager_pid, pid);
}

void StepRecord::set_process_group(pid_t group) noexcept {
  Members(block_.get()).put(offsets_of(layout_).process_group, group);
}

void StepRecord::set_switch_job(void* jobinfo) noexcept {
  Members(block_.get()).put(offsets_of(layout_).switch_job, jobinfo);
}

void StepRecord::set_env(char** env) noexcept {
  Members(block_.get()).put(offsets_of(layout_).env, env);
}

void StepRecord::set_session(pid_t pid, std::int32_t status) noexcept {
  const StepRecordOffsets& at = offsets_of(layout_);
  Members record(block_.get());
  record.put(at.session_pid, pid);
  record.put(at.session_status, status);
}

JobRecord::JobRecord(JobRecordLayout layout, const JobFacts& facts)
    : layout_(layout), block_(host_alloc(static_cast<std::size_t>(offsets_of(layout).size))) {
  const JobRecordOffsets& at = offsets_of(layout);
  Members record(block_.get());
  record.put(at.job_id, facts.job_id);
  record.put_text(at.name, 256, facts.name);
  record.put_text(at.partition, 32, facts.partition);
  record.put(at.batch_flag, static_cast<std::uint16_t>(facts.batch ? 1 : 0));
  record.put(at.user_id, facts.uid);
  record.put(at.group_id, facts.gid);
  record.put(at.job_state, facts.state);
  record.put_copy(at.nodes, facts.nodes);
  record.put(at.task_count, facts.task_count);
  record.put(at.time_limit, facts.time_limit);
  record.put(at.start_time, std::int64_t{facts.start_time});
  record.put(at.end_time, std::int64_t{facts.end_time});
  record.put(at.priority, facts.priority);
  record.put(at.node_count, facts.node_count);
  record.put_copy(at.account, facts.account);
  record.put_copy(at.network, facts.network);

  void* const details = host_alloc(kDetailsSize);
  record.put(at.details, details);
  Members(details).put(at.details_task_count, facts.task_count);
  Members(details).put(at.details_submit_time, std::int64_t{facts.submit_time});
  Members(details).put(at.details_begin_time, std::int64_t{facts.submit_time});

  if (facts.node_count == 0) return;
  auto* const cpus = static_cast<std::uint32_t*>(host_alloc(sizeof(std::uint32_t)));
  auto* const repetitions = static_cast<std::uint32_t*>(host_alloc(sizeof(std::uint32_t)));
  *cpus = facts.cpus_per_node;
  *repetitions = facts.node_count;
  record.put(at.cpu_group_count, std::uint16_t{1});
  record.put(at.cpus_per_node, cpus);
  record.put(at.cpu_count_reps, repetitions);
}

JobRecord& JobRecord::operator=(JobRecord&& other) noexcept {
  if (this == &other) return *this;
  release();
  layout_ = other.layout_;
  block_ = std::move(other.block_);
  return *this;
}

JobRecord::~JobRecord() { release(); }

void JobRecord::release() noexcept {
  if (!block_) return;
  const JobRecordOffsets& at = offsets_of(layout_);
  const Members record(block_.get());
  for (const std::int16_t offset :
       {at.nodes, at.account, at.network, at.details, at.cpus_per_node, at.cpu_count_reps}) {
    host_free(record.get<void*>(offset));
  }
  block_.reset();
}

void JobRecord::set_state(std::uint32_t state) noexcept {
  Members(block_.get()).put(offsets_of(layout_).job_state, state);
}

void JobRecord::set_times(std::time_t start, std::time_t end) noexcept {
  Members record(block_.get());
  record.put(offsets_of(layout_).start_time, std::int64_t{start});
  record.put(offsets_of(layout_).end_time, std::int64_t{end});
}

JobAcctMessage::JobAcctMessage(std::span<const std::byte> content) {
  const std::size_t size = std::min<std::size_t>(content.size(), 0xffff);
  content_.reset(host_alloc(size));
  if (size != 0) std::memcpy(content_.get(), content.data(), size);

  data_.reset(host_alloc(16));
  Members data(data_.get());
  data.put(0, static_cast<std::uint16_t>(size));
  data.put(8, content_.get());

  message_.reset(host_alloc(48));
  Members message(message_.get());
  message.put(0, std::uint32_t{kJobAcctData});
  message.put(20, std::int32_t{-1});
  message.put(32, data_.get());
}

}  // namespace hal::host
