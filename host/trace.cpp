// SPDX-License-Identifier: BSD-3-Clause
#include "host/trace.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

namespace hal::host {

struct Trace::Shared {
  std::atomic<std::uint64_t> next;
  std::uint64_t capacity;

  [[nodiscard]] TraceRecord* records() noexcept {
    return reinterpret_cast<TraceRecord*>(reinterpret_cast<std::byte*>(this) + kHeaderSize);
  }

  static constexpr std::size_t kHeaderSize = 64;
};

namespace {

static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

std::uint64_t now_ns() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

template <std::size_t N>
void copy_text(std::array<char, N>& to, std::string_view from) noexcept {
  const std::size_t size = std::min(from.size(), N - 1);
  std::memcpy(to.data(), from.data(), size);
  to[size] = '\0';
}

}  // namespace

std::string_view to_string(ProcessRole role) noexcept {
  switch (role) {
    case ProcessRole::controller:
      return "controller";
    case ProcessRole::client:
      return "client";
    case ProcessRole::node_daemon:
      return "node daemon";
    case ProcessRole::job_manager:
      return "job manager";
    case ProcessRole::session_manager:
      return "session manager";
    case ProcessRole::step_manager:
      return "step manager";
    case ProcessRole::task:
      return "task";
  }
  return "process";
}

Trace::Trace(Trace&& other) noexcept { *this = std::move(other); }

Trace& Trace::operator=(Trace&& other) noexcept {
  if (this == &other) return *this;
  if (shared_ != nullptr) ::munmap(shared_, mapped_size_);
  shared_ = std::exchange(other.shared_, nullptr);
  mapped_size_ = std::exchange(other.mapped_size_, 0);
  node_ = other.node_;
  task_ = other.task_;
  role_ = other.role_;
  return *this;
}

Trace::~Trace() {
  if (shared_ != nullptr) ::munmap(shared_, mapped_size_);
}

Result<Trace> Trace::create(std::size_t capacity) {
  if (capacity == 0 || capacity > (std::size_t{1} << 24)) {
    return fail(Errc::invalid_argument, EINVAL, "trace: capacity must be 1 to 16777216 calls");
  }
  const std::size_t size = Shared::kHeaderSize + capacity * sizeof(TraceRecord);
  // Pages are taken when they are written, so an unused trace costs address space only.
  void* const memory = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return fail_errno(errno, "trace: map shared memory");
  Trace trace;
  trace.shared_ = new (memory) Shared{{0}, capacity};
  trace.mapped_size_ = size;
  return trace;
}

void Trace::set_process(ProcessRole role, std::string_view node, std::int32_t task) noexcept {
  role_ = role;
  task_ = task;
  copy_text(node_, node);
}

TraceRecord* Trace::begin(const char* name) noexcept {
  const std::uint64_t index = shared_->next.fetch_add(1, std::memory_order_relaxed);
  if (index >= shared_->capacity) return nullptr;
  TraceRecord* const record = shared_->records() + index;
  record->value = 0;
  record->duration_ns = 0;
  record->error_number = 0;
  record->pid = ::getpid();
  record->uid = ::geteuid();
  record->task = task_;
  record->role = role_;
  record->kind = TraceResult::running;
  record->node = node_;
  copy_text(record->call, name);
  // A start of 0 marks a record that nobody filled yet.
  std::atomic_ref(record->start_ns).store(now_ns(), std::memory_order_release);
  return record;
}

void Trace::end(TraceRecord* record, TraceResult kind, std::int64_t value, bool failed) noexcept {
  const int error = errno;
  if (record == nullptr) return;
  record->value = value;
  record->error_number = failed ? error : 0;
  record->duration_ns = now_ns() - record->start_ns;
  std::atomic_ref(record->kind).store(kind, std::memory_order_release);
  errno = error;
}

TraceSnapshot Trace::snapshot() const {
  TraceSnapshot snapshot;
  if (!on()) return snapshot;
  const std::uint64_t begun = shared_->next.load(std::memory_order_acquire);
  const std::uint64_t kept = std::min(begun, shared_->capacity);
  snapshot.dropped = begun - kept;
  snapshot.records.reserve(kept);
  for (std::uint64_t i = 0; i < kept; ++i) {
    TraceRecord& record = shared_->records()[i];
    if (std::atomic_ref(record.start_ns).load(std::memory_order_acquire) == 0) continue;
    const TraceResult kind = std::atomic_ref(record.kind).load(std::memory_order_acquire);
    snapshot.records.push_back(record);
    snapshot.records.back().kind = kind;
  }
  std::stable_sort(snapshot.records.begin(), snapshot.records.end(),
                   [](const auto& a, const auto& b) { return a.start_ns < b.start_ns; });
  return snapshot;
}

}  // namespace hal::host
