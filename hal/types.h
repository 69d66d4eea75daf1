// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace hal {

/// Ids are distinct types so that they cannot be swapped; `to_number` gives the plain value back.
enum class JobId : std::uint32_t {};
enum class StepId : std::uint32_t {};

/// Names one process aggregate on one node. 0 means "none", 1 and all ones are never handed out;
/// the value is a key into the tracker's own table and never a pid. Source: proctrack sheet 4.2.
enum class ContainerId : std::uint64_t {};

inline constexpr ContainerId kNoContainer{0};

/// Step number of a batch script in the classic documents.
inline constexpr StepId kBatchStep{0xfffffffeU};

[[nodiscard]] constexpr std::uint32_t to_number(JobId id) noexcept {
  return static_cast<std::uint32_t>(id);
}
[[nodiscard]] constexpr std::uint32_t to_number(StepId id) noexcept {
  return static_cast<std::uint32_t>(id);
}
[[nodiscard]] constexpr std::uint64_t to_number(ContainerId id) noexcept {
  return static_cast<std::uint64_t>(id);
}

/// One step's right to use the interconnect, as its self-describing wire bytes: what `build`
/// returns is what travels, so packing is a copy and never changes it. May hold a key: printing
/// goes through CredentialCodec::describe only, and the bytes are wiped on destruction.
/// Empty means "not built" (the classic API allocates before it builds).
class Credential {
 public:
  Credential() = default;
  explicit Credential(std::vector<std::byte> wire) : wire_(std::move(wire)) {}
  Credential(const Credential&) = default;
  Credential(Credential&&) noexcept = default;
  Credential& operator=(const Credential& other);
  Credential& operator=(Credential&& other) noexcept;
  ~Credential() {
    if (!wire_.empty()) forget();
  }

  [[nodiscard]] std::span<const std::byte> wire() const noexcept { return wire_; }
  [[nodiscard]] bool built() const noexcept { return !wire_.empty(); }
  [[nodiscard]] bool operator==(const Credential&) const = default;

 private:
  void forget() noexcept;

  std::vector<std::byte> wire_;
};

/// What one node reports of its interconnect, as wire bytes of the backend; may be empty.
struct NodeRecord {
  std::vector<std::byte> wire;
};

/// Where one task stands in its step. All indices start at 0.
struct TaskPlace {
  std::uint32_t node_index = 0;  ///< index of the node in the step's own node order
  std::uint32_t local_id = 0;    ///< index of the task on its node
  std::uint32_t node_count = 0;
  std::uint32_t task_count = 0;  ///< of the whole step
  std::uint32_t rank = 0;        ///< index of the task in the step
};

/// Environment variables of a task; each replaces an inherited variable of that name.
using EnvUpdates = std::vector<std::pair<std::string, std::string>>;

/// The facts of a step that backends may read, copied out of the resource manager's own record.
struct StepDescriptor {
  JobId job{};
  StepId step{};
  uid_t owner = 0;
  gid_t group = 0;
  pid_t manager_pid = 0;    ///< process that plays the step daemon on this node
  pid_t process_group = 0;  ///< group of the first task; 0 before it exists
  std::uint32_t node_index = 0;
  std::uint32_t task_count = 0;  ///< on this node
};

/// Bytes that are wiped on destruction and that nothing can print.
class Secret {
 public:
  Secret() = default;
  explicit Secret(std::span<const std::byte> value) : bytes_(value.begin(), value.end()) {}
  Secret(const Secret&) = delete;
  Secret& operator=(const Secret&) = delete;
  Secret(Secret&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}
  Secret& operator=(Secret&& other) noexcept;
  ~Secret();

  [[nodiscard]] std::span<const std::byte> expose() const noexcept { return bytes_; }

  /// `size` bytes of the kernel's random generator. Aborts only if the kernel has none.
  [[nodiscard]] static Secret random(std::size_t size);

 private:
  std::vector<std::byte> bytes_;
};

/// Overwrites `bytes` in a way that the compiler may not remove.
void wipe(std::span<std::byte> bytes) noexcept;

}  // namespace hal
