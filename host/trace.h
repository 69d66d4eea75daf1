// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/types.h>
#include <type_traits>
#include <utility>
#include <vector>

#include "hal/result.h"

namespace hal::host {

/// Which daemon process makes the calls. Source: switch call order 2 and 3.
enum class ProcessRole : std::uint8_t {
  controller,
  client,
  node_daemon,
  job_manager,
  session_manager,
  step_manager,  ///< late order: one process for both managers
  task,
};

/// "controller", "node daemon", ... Never null.
[[nodiscard]] std::string_view to_string(ProcessRole role) noexcept;

/// What a traced call handed back.
enum class TraceResult : std::uint8_t {
  running,  ///< the process ended, or was ended, before the call returned
  nothing,  ///< a void function
  number,
  boolean,
  pointer,  ///< `value` is 1, or 0 for a null pointer
};

/// One plugin call. Times are nanoseconds of CLOCK_MONOTONIC.
struct TraceRecord {
  std::uint64_t start_ns;
  std::uint64_t duration_ns;
  std::int64_t value;
  std::int32_t error_number;  ///< errno after a call that failed, else 0
  pid_t pid;
  uid_t uid;          ///< effective user of the caller
  std::int32_t task;  ///< local id of a task process, else -1
  ProcessRole role;
  TraceResult kind;
  std::array<char, 50> call;  ///< NUL-terminated
  std::array<char, 72> node;  ///< NUL-terminated; empty for controller and client
};

/// Everything recorded so far, in the order of the call starts.
struct TraceSnapshot {
  std::vector<TraceRecord> records;
  std::uint64_t dropped = 0;  ///< calls that found no free record
};

/// Records plugin calls of one run over all its processes: a shared mapping made before the first
/// fork, filled with one atomic counter, never blocking. A default-made Trace is off and costs one
/// branch a call. Copying the process copies the object; the records are shared.
class Trace {
 public:
  static constexpr std::size_t kDefaultCapacity = 65536;

  Trace() noexcept = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  Trace(Trace&& other) noexcept;
  Trace& operator=(Trace&& other) noexcept;
  ~Trace();

  /// A trace that is on and keeps the first `capacity` calls; later ones are counted only.
  [[nodiscard]] static Result<Trace> create(std::size_t capacity = kDefaultCapacity);

  [[nodiscard]] bool on() const noexcept { return shared_ != nullptr; }

  /// Says who this process is; call it once after each fork. Long node names are cut.
  void set_process(ProcessRole role, std::string_view node = {}, std::int32_t task = -1) noexcept;

  /// Calls `function` and records it as `name`. errno is left as the call left it.
  template <class Function>
  auto call(const char* name, Function&& function) -> std::invoke_result_t<Function> {
    if (!on()) return std::forward<Function>(function)();
    TraceRecord* const record = begin(name);
    if constexpr (std::is_void_v<std::invoke_result_t<Function>>) {
      std::forward<Function>(function)();
      end(record, TraceResult::nothing, 0, false);
    } else {
      auto result = std::forward<Function>(function)();
      finish(record, result);
      return result;
    }
  }

  [[nodiscard]] TraceSnapshot snapshot() const;

 private:
  struct Shared;

  TraceRecord* begin(const char* name) noexcept;
  static void end(TraceRecord* record, TraceResult kind, std::int64_t value, bool failed) noexcept;

  template <class Value>
  static void finish(TraceRecord* record, const Value& value) noexcept {
    if constexpr (std::is_pointer_v<Value>) {
      end(record, TraceResult::pointer, value != nullptr ? 1 : 0, value == nullptr);
    } else if constexpr (std::is_same_v<Value, bool>) {
      end(record, TraceResult::boolean, value ? 1 : 0, false);
    } else {
      end(record, TraceResult::number, static_cast<std::int64_t>(value), value == Value(-1));
    }
  }

  Shared* shared_ = nullptr;
  std::size_t mapped_size_ = 0;
  std::array<char, 72> node_{};
  std::int32_t task_ = -1;
  ProcessRole role_ = ProcessRole::controller;
};

/// A table for people: one block per process in the order of its first call.
[[nodiscard]] std::string trace_as_text(const TraceSnapshot& snapshot);

/// {"calls": [...], "dropped": n}; one object per call.
[[nodiscard]] std::string trace_as_json(const TraceSnapshot& snapshot);

/// Trace-event JSON, as timeline viewers (Perfetto, chrome://tracing) read it.
[[nodiscard]] std::string trace_as_timeline(const TraceSnapshot& snapshot);

}  // namespace hal::host
