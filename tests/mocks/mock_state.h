// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <pthread.h>
#include <string>
#include <sys/types.h>

/// What every mock vendor library shares: one mapped file that plays the kernel for all processes
/// and all virtual nodes of a test, with an ordered trace, injected failures and real kernel
/// objects (locks of open file descriptions) for everything that dies with its last holder.
namespace backplane_mock {

inline constexpr std::size_t kTraceCapacity = 8192;
inline constexpr std::size_t kRuleCapacity = 64;
inline constexpr std::size_t kNameSize = 32;
inline constexpr std::size_t kArgumentsSize = 120;

/// One vendor call, in the order of its effect. Never holds a key.
struct TraceEntry {
  std::uint64_t sequence;
  std::uint64_t nanoseconds;  ///< CLOCK_MONOTONIC
  std::int64_t result;
  std::int32_t pid;
  std::uint32_t uid;  ///< as the mock sees it
  std::int32_t node;
  std::int32_t error;  ///< errno; 0 on success
  char function[kNameSize];
  char arguments[kArgumentsSize];
};

enum class Action : std::uint32_t { none, fail, delay, kill_before, kill_after };

/// What happens to the n-th call of a function from now on; n = 0 is every call.
struct Rule {
  Action action;
  std::uint32_t every;
  std::uint64_t countdown;
  std::int64_t value;  ///< errno, or milliseconds
  char function[kNameSize];
};

/// Start of every state file; a vendor's tables follow.
struct CoreState {
  std::uint64_t magic;
  std::uint32_t vendor;
  std::uint32_t version;
  std::uint64_t size;
  pthread_mutex_t lock;  ///< robust and shared between processes
  std::uint32_t identity;
  std::uint32_t lock_owner_deaths;
  std::uint64_t next_sequence;
  Rule rules[kRuleCapacity];
  TraceEntry trace[kTraceCapacity];
};

/// What a vendor's mock tells the mapping code.
struct StateLayout {
  std::uint32_t vendor;
  std::uint32_t version;
  std::size_t size;
  void (*set_defaults)(CoreState& state);
};

/// One state file mapped into this process until the library is unloaded, found again by its path.
/// Lock free, so that a child of a threaded process can use it at once.
class Mapping {
 public:
  /// The file that BACKPLANE_MOCK_STATE names, or a private one of this user.
  /// @return null with errno set: the file cannot be used.
  [[nodiscard]] static Mapping* current(const StateLayout& layout);

  /// As `current`, by path.
  [[nodiscard]] static Mapping* at(const std::string& path, const StateLayout& layout);

  /// All mappings of this process, in no order.
  [[nodiscard]] static Mapping* first() noexcept;
  [[nodiscard]] Mapping* next() const noexcept { return next_; }

  [[nodiscard]] CoreState* core() const noexcept { return core_; }

  /// A new open file description of the state file, close-on-exec. @return -1 with errno.
  [[nodiscard]] int reopen(bool close_on_exec = true) const;

  /// As `reopen`, but also for a user who may not see the file any more: the description of the
  /// mapping itself then, which no lock byte is ever tied to.
  [[nodiscard]] int open_or_share() const;

  /// True if `fd` is open on this file. On false, errno: EBADF closed, ENOTTY another file.
  [[nodiscard]] bool is_mine(int fd) const;

  /// True while some process holds the description that took lock byte `slot`.
  [[nodiscard]] bool lock_held(std::uint64_t slot) const;

 private:
  Mapping(std::string path, CoreState* core, int fd, dev_t device, ino_t inode)
      : path_(std::move(path)), core_(core), fd_(fd), device_(device), inode_(inode) {}

  ~Mapping();
  [[nodiscard]] static Mapping* create(const std::string& path, const StateLayout& layout);
  friend void release_mappings() noexcept;

  std::string path_;
  CoreState* core_;
  int fd_;  ///< may be closed behind our back; checked before each use
  dev_t device_;
  ino_t inode_;
  Mapping* next_ = nullptr;
};

/// Ties lock byte `slot` to the description `fd`. @return false: held through another description.
[[nodiscard]] bool take_lock(int fd, std::uint64_t slot);

/// Holds the state's mutex; takes it over from a process that died with it.
class StateGuard {
 public:
  explicit StateGuard(CoreState& state) noexcept;
  ~StateGuard();
  StateGuard(const StateGuard&) = delete;
  StateGuard& operator=(const StateGuard&) = delete;

 private:
  CoreState& state_;
};

/// Effective uid of the caller: BACKPLANE_MOCK_UID, or the real one.
[[nodiscard]] uid_t caller_uid();

/// Text of a call's arguments for the trace.
class Arguments {
 public:
  Arguments() : text_{} {}
  explicit Arguments(const char* format, ...) __attribute__((format(printf, 2, 3)));
  [[nodiscard]] const char* text() const noexcept { return text_; }

 private:
  char text_[kArgumentsSize];
};

/// Consumes the rules of `function`: sleeps or kills here; the guard must not be held.
struct Injection {
  int error = 0;
  bool kill_after = false;
};
[[nodiscard]] Injection next_injection(CoreState& state, const char* function);

/// Appends to the trace; the guard is held.
void record_call(CoreState& state, const char* function, const Arguments& arguments, int node,
                 std::int64_t result, int error);

[[noreturn]] void kill_caller();

/// Installs a rule; the guard is held. @return false: the table is full or the name too long.
[[nodiscard]] bool add_rule(CoreState& state, const char* function, std::uint64_t nth,
                            Action action, std::int64_t value);

}  // namespace backplane_mock
