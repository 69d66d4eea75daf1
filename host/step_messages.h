// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <sys/types.h>
#include <type_traits>
#include <utility>
#include <vector>

#include "hal/result.h"
#include "hal/vendor_library.h"

namespace hal::host {

// What the processes of a step tell each other: one record or a list of records per packet, between
// processes of one program image. The receiver still checks kind, size and every index, because a
// session runs as the user.

enum class MessageKind : std::uint32_t {
  // Up: session -> manager -> controller.
  session_ready = 1,  ///< one SessionReady, then the tasks
  tasks,              ///< TaskBirth each, in order of the local id
  ended,              ///< TaskEnd each
  helpers,            ///< TaskBirth each: processes of plugins that outlive the manager
  problem,            ///< one Problem
  finished,           ///< one NodeFinished; the manager's last
  // Down: controller -> manager.
  signal,    ///< one int32: through the tracker
  kill_all,  ///< no record: the tracker's kill, then every descendant that is left
};

struct SessionReady {
  std::int32_t session_pid = 0;
  std::int32_t process_group = 0;
  std::uint64_t container_id = 0;
};

struct TaskBirth {
  std::int32_t pid = 0;
  std::uint32_t unused = 0;
  std::uint64_t start_time = 0;  ///< clock ticks since boot, as /proc has it; 0 before it is known
};

struct TaskEnd {
  std::uint32_t local_id = 0;
  std::int32_t pid = 0;
  std::int32_t wait_status = 0;
  std::uint32_t unused = 0;
  std::uint64_t max_rss_kib = 0;
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
  std::uint64_t end_ns = 0;  ///< CLOCK_MONOTONIC
};

/// Where on a node something failed.
enum class Stage : std::uint32_t {
  unpack = 1,
  preinit,
  container,
  io,
  fork_session,
  init,
  become_user,
  set_session,
  change_directory,
  limits,
  fork_tasks,
  track,
  attach,
  stdio,
  exec,
  fini,
  postfini,
  note,  ///< worth a line, harmless
};

inline constexpr std::uint32_t kWholeNode = 0xffffffffU;

struct Problem {
  std::uint32_t local_id = kWholeNode;
  Stage stage = Stage::note;
  std::int32_t error_number = 0;
  std::array<char, 244> text{};  ///< NUL-terminated

  void set_text(std::string_view message) noexcept {
    const auto size = message.size() < text.size() - 1 ? message.size() : text.size() - 1;
    std::memcpy(text.data(), message.data(), size);
    text[size] = '\0';
  }
};

struct NodeFinished {
  std::int32_t session_status = -1;  ///< raw wait status of the session; -1: none was started
  std::uint32_t escaped = 0;         ///< processes that the tracker had lost
  std::uint32_t survivors = 0;       ///< processes that could not be ended
  std::uint32_t failed = 0;  ///< not 0: the node's part of the step did not run as it should
};

/// One received packet.
struct Message {
  MessageKind kind{};
  std::span<const std::byte> body;  ///< valid until the next receive

  /// The only record, or nothing when the size does not fit.
  template <class T>
  [[nodiscard]] std::optional<T> one() const {
    static_assert(std::is_trivially_copyable_v<T>);
    if (body.size() != sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, body.data(), sizeof(T));
    return value;
  }

  /// A list; empty when the size is no multiple.
  template <class T>
  [[nodiscard]] std::vector<T> list() const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> values;
    if (body.size() % sizeof(T) != 0) return values;
    values.resize(body.size() / sizeof(T));
    if (!values.empty()) std::memcpy(values.data(), body.data(), body.size());
    return values;
  }
};

/// One end of a packet socket.
class MessageSocket {
 public:
  MessageSocket() = default;
  explicit MessageSocket(UniqueFd fd) : fd_(std::move(fd)) {}

  [[nodiscard]] static Result<std::pair<MessageSocket, MessageSocket>> make_pair();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] bool open() const noexcept { return fd_.valid(); }
  void close() noexcept { fd_.reset(); }

  template <class T>
  bool send(MessageKind kind, const T& record) const {
    static_assert(std::is_trivially_copyable_v<T>);
    return send_bytes(kind, std::as_bytes(std::span(&record, 1)));
  }
  template <class T>
  bool send_list(MessageKind kind, std::span<const T> records) const {
    static_assert(std::is_trivially_copyable_v<T>);
    constexpr std::size_t kPerPacket = kMaxBody / sizeof(T);
    while (!records.empty()) {
      const auto part = records.first(records.size() < kPerPacket ? records.size() : kPerPacket);
      if (!send_bytes(kind, std::as_bytes(part))) return false;
      records = records.subspan(part.size());
    }
    return true;
  }
  bool send_empty(MessageKind kind) const { return send_bytes(kind, {}); }

  enum class Receive { message, nothing, closed };

  /// Takes one packet without waiting; `message.body` points into this object's buffer.
  [[nodiscard]] Receive receive(Message& message);

  static constexpr std::size_t kMaxBody = std::size_t{32} << 10;

 private:
  /// False when the other end is gone.
  bool send_bytes(MessageKind kind, std::span<const std::byte> body) const;

  UniqueFd fd_;
  std::unique_ptr<std::byte[]> buffer_;  ///< not cleared: most packets touch one page of it
};

}  // namespace hal::host
