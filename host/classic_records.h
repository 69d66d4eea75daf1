// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <vector>

namespace hal::host {

// Memory as a classic daemon hands it out: a header of two 32-bit ints (0x42, size) in front of
// each block. Source: classic ABI, memory. A plugin may free or resize such a block, and what it
// hands back has the same header.

/// A zeroed block; never null (ends the process when memory is gone, as the daemons did).
[[nodiscard]] void* host_alloc(std::size_t size);
[[nodiscard]] void* host_realloc(void* block, std::size_t size);
void host_free(void* block) noexcept;  ///< null is allowed
[[nodiscard]] char* host_copy(std::string_view text);

/// True if `block` carries a header of this allocator with the given size, or with any.
[[nodiscard]] bool has_host_header(const void* block) noexcept;
[[nodiscard]] std::size_t host_block_size(const void* block) noexcept;

struct HostBlockDeleter {
  void operator()(void* block) const noexcept { host_free(block); }
};

/// Owner of a host block.
template <class T>
using HostBlock = std::unique_ptr<T, HostBlockDeleter>;

/// The daemon's message buffer: 24 bytes by layout, its memory may be grown by the plugin.
/// Source: classic ABI 5.3.
class ClassicBuf {
 public:
  /// An empty buffer to pack into.
  explicit ClassicBuf(std::size_t size = 4096);

  /// A received message to unpack from.
  explicit ClassicBuf(std::span<const std::byte> content);

  ClassicBuf(ClassicBuf&& other) noexcept;
  ClassicBuf& operator=(ClassicBuf&& other) noexcept;
  ~ClassicBuf();

  [[nodiscard]] void* handle() noexcept { return record_.get(); }

  /// Bytes packed so far, or the part of the message that was unpacked.
  [[nodiscard]] std::span<const std::byte> processed() const noexcept;
  [[nodiscard]] std::size_t processed_size() const noexcept;
  [[nodiscard]] std::size_t capacity() const noexcept;

  /// Starts again at the first byte.
  void rewind() noexcept;

  /// False when the plugin damaged the record: wrong magic, or more processed than there is.
  [[nodiscard]] bool intact() const noexcept;

 private:
  struct Record;
  struct RecordDeleter {
    void operator()(Record* record) const noexcept;
  };
  std::unique_ptr<Record, RecordDeleter> record_;
};

/// The environment of a task as job_attach gets it: an array of the daemon's that a plugin may
/// replace or grow; array and strings are host blocks.
class ClassicEnv {
 public:
  explicit ClassicEnv(std::span<const std::string> entries = {});
  ClassicEnv(ClassicEnv&& other) noexcept;
  ClassicEnv& operator=(ClassicEnv&& other) noexcept;
  ~ClassicEnv();

  /// What the daemon passes; the plugin may change the array behind it.
  [[nodiscard]] char*** handle() noexcept { return &array_; }

  /// For execve.
  [[nodiscard]] char** array() const noexcept { return array_; }

  /// Adds or replaces NAME=value as the daemon's own setenv does: a replaced string is freed.
  void set(std::string_view name, std::string_view value);

  /// Value of `name`, or null.
  [[nodiscard]] const char* get(std::string_view name) const noexcept;

  [[nodiscard]] std::vector<std::string> entries() const;

 private:
  char** array_ = nullptr;
};

/// Which release's slurmd_job_t. Source: classic ABI 5.1.
enum class StepRecordLayout : std::uint8_t {
  v0_5_0,  ///< 168 bytes: jobacct, separate job and session managers
  v1_0,    ///< 304 bytes: jobacct, one step manager
  v2_6,    ///< 464 bytes: proctrack, container id of 64 bits
};

/// Where the members of one layout are; -1: this layout has no such member.
struct StepRecordOffsets {
  std::int16_t size;
  std::int16_t job_id;
  std::int16_t step_id;
  std::int16_t node_count;
  std::int16_t step_tasks;
  std::int16_t node_id;
  std::int16_t node_tasks;
  std::int16_t cpus;       ///< u16
  std::int16_t argc;       ///< u16; u32 in v2_6
  std::int16_t env;        ///< char**
  std::int16_t argv;       ///< char**
  std::int16_t cwd;        ///< char*
  std::int16_t node_name;  ///< char*
  std::int16_t switch_job;
  std::int16_t uid;
  std::int16_t gid;
  std::int16_t batch;  ///< bool
  std::int16_t task;   ///< array of pointers
  std::int16_t manager_pid;
  std::int16_t process_group;
  std::int16_t session_pid;     ///< smgr_pid
  std::int16_t session_status;  ///< smgr_status; -1 until the session manager is reaped
  std::int16_t container_id;
  std::int8_t container_id_size;  ///< 0, 4 or 8
  std::int8_t argc_size;          ///< 2 or 4
};

[[nodiscard]] const StepRecordOffsets& offsets_of(StepRecordLayout layout) noexcept;

/// What a host knows of a step; `StepRecord` lays it out.
struct StepFacts {
  std::uint32_t job_id = 0;
  std::uint32_t step_id = 0;
  std::uint32_t node_count = 0;
  std::uint32_t node_id = 0;
  std::uint32_t step_tasks = 0;
  std::uint32_t node_tasks = 0;
  std::uint16_t cpus = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  pid_t manager_pid = 0;
  pid_t process_group = 0;
  bool batch = false;
  std::vector<std::string> arguments = {};
  std::string working_directory = {};
  std::string node_name = {};
};

/// One slurmd_job_t: a host block of exactly the layout's size, so that a plugin can tell the
/// release by the size in the header.
class StepRecord {
 public:
  StepRecord(StepRecordLayout layout, const StepFacts& facts);
  StepRecord(StepRecord&&) noexcept = default;
  StepRecord& operator=(StepRecord&& other) noexcept;
  ~StepRecord();

  [[nodiscard]] void* handle() noexcept { return block_.get(); }
  [[nodiscard]] StepRecordLayout layout() const noexcept { return layout_; }

  /// What a proctrack plugin wrote; 0: none, or no such member.
  [[nodiscard]] std::uint64_t container_id() const noexcept;
  void set_container_id(std::uint64_t id) noexcept;

  void set_manager_pid(pid_t pid) noexcept;
  void set_process_group(pid_t group) noexcept;
  void set_switch_job(void* jobinfo) noexcept;
  void set_env(char** env) noexcept;                          ///< not owned
  void set_session(pid_t pid, std::int32_t status) noexcept;  ///< v0_5_0 only

 private:
  void release() noexcept;

  StepRecordLayout layout_;
  HostBlock<void> block_;
};

/// Which release's struct job_record. Source: classic ABI 5.2.
enum class JobRecordLayout : std::uint8_t {
  v0_5,     ///< 528 bytes
  v1_0_16,  ///< 568 bytes
};

struct JobRecordOffsets {
  std::int16_t size;
  std::int16_t job_id;
  std::int16_t name;       ///< char[256]
  std::int16_t partition;  ///< char[32]
  std::int16_t batch_flag;
  std::int16_t user_id;
  std::int16_t group_id;
  std::int16_t job_state;
  std::int16_t nodes;
  std::int16_t task_count;  ///< num_procs
  std::int16_t time_limit;
  std::int16_t start_time;
  std::int16_t end_time;
  std::int16_t priority;
  std::int16_t details;
  std::int16_t cpu_group_count;  ///< num_cpu_groups, u16
  std::int16_t cpus_per_node;
  std::int16_t cpu_count_reps;
  std::int16_t node_count;  ///< u16
  std::int16_t account;
  std::int16_t network;
  std::int16_t details_task_count;   ///< in struct job_details
  std::int16_t details_submit_time;  ///< in struct job_details
  std::int16_t details_begin_time;   ///< in struct job_details; -1: none
};

[[nodiscard]] const JobRecordOffsets& offsets_of(JobRecordLayout layout) noexcept;

struct JobFacts {
  std::uint32_t job_id = 0;
  std::string name = {};       ///< cut to 255 bytes
  std::string partition = {};  ///< cut to 31 bytes
  bool batch = false;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t state = 0;  ///< 0 pending, 1 running, 2 suspended, 3 complete, 4.. failures
  std::string nodes = {};   ///< empty: NULL, as for a job that only waits
  std::uint32_t task_count = 0;
  std::uint32_t time_limit = 0;
  std::uint32_t priority = 0;
  std::time_t submit_time = 0;
  std::time_t start_time = 0;
  std::time_t end_time = 0;
  std::uint16_t node_count = 0;
  std::uint32_t cpus_per_node = 1;
  std::string account = {};
  std::string network = {};
};

/// One struct job_record with its details and strings.
class JobRecord {
 public:
  JobRecord(JobRecordLayout layout, const JobFacts& facts);
  JobRecord(JobRecord&&) noexcept = default;
  JobRecord& operator=(JobRecord&& other) noexcept;
  ~JobRecord();

  [[nodiscard]] void* handle() noexcept { return block_.get(); }
  void set_state(std::uint32_t state) noexcept;
  void set_times(std::time_t start, std::time_t end) noexcept;

 private:
  void release() noexcept;

  JobRecordLayout layout_;
  HostBlock<void> block_;
};

/// One struct slurm_msg with a jobacct_msg (type 8003) as its data. The content is not
/// NUL-terminated and is gone when this object is. Source: classic ABI 5.3.
class JobAcctMessage {
 public:
  /// At most 65535 bytes are carried: the length has 16 bits.
  explicit JobAcctMessage(std::span<const std::byte> content);

  [[nodiscard]] void* handle() noexcept { return message_.get(); }

 private:
  HostBlock<void> content_;
  HostBlock<void> data_;
  HostBlock<void> message_;
};

}  // namespace hal::host
