// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/mock_state.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace backplane_mock {
namespace {

constexpr std::uint64_t kMagic = 0x424b504c4d4f434bULL;
constexpr off_t kLockBase = off_t{1} << 40;  // past the end: no byte of the state is locked

std::atomic<Mapping*> all_mappings{nullptr};

class FdOwner {
 public:
  explicit FdOwner(int fd) : fd_(fd) {}
  ~FdOwner() {
    if (fd_ >= 0) ::close(fd_);
  }
  FdOwner(const FdOwner&) = delete;
  FdOwner& operator=(const FdOwner&) = delete;
  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] int release() noexcept {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

// O_CREAT only for a file that is not there: sticky directories refuse it on other users' files.
int open_or_create(const char* path) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_CLOEXEC;
  for (int attempt = 0; attempt < 8; ++attempt) {
    int fd = ::open(path, kFlags);
    if (fd >= 0 || errno != ENOENT) return fd;
    fd = ::open(path, kFlags | O_CREAT | O_EXCL, 0600);
    if (fd >= 0) {
      if (::fchmod(fd, 0666) == 0) return fd;
      ::close(fd);
      return -1;
    }
    if (errno != EEXIST) return -1;
  }
  return -1;
}

void set_up(CoreState& core, const StateLayout& layout) {
  pthread_mutexattr_t attributes;
  ::pthread_mutexattr_init(&attributes);
  ::pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(&core.lock, &attributes);
  ::pthread_mutexattr_destroy(&attributes);
  if (::getrandom(&core.identity, sizeof core.identity, 0) != sizeof core.identity) {
    core.identity = static_cast<std::uint32_t>(::getpid());
  }
  core.vendor = layout.vendor;
  core.version = layout.version;
  core.size = layout.size;
  core.next_sequence = 1;
  layout.set_defaults(core);
  core.magic = kMagic;
}

std::string private_path() {
  const std::string directory = "/tmp/backplane-mock-" + std::to_string(::geteuid());
  struct stat status {};
  ::mkdir(directory.c_str(), 0700);
  if (::lstat(directory.c_str(), &status) != 0) return {};
  if (!S_ISDIR(status.st_mode) || status.st_uid != ::geteuid() || (status.st_mode & 077) != 0) {
    errno = EACCES;
    return {};
  }
  return directory + "/state";
}

}  // namespace

/// Runs when the library is unloaded or the process ends.
__attribute__((destructor)) void release_mappings() noexcept {
  for (Mapping* m = all_mappings.exchange(nullptr); m != nullptr;) {
    Mapping* const next = m->next_;
    delete m;
    m = next;
  }
}

Mapping::~Mapping() {
  ::munmap(core_, core_->size);
  if (is_mine(fd_)) ::close(fd_);
}

Mapping* Mapping::current(const StateLayout& layout) {
  const char* named = std::getenv("BACKPLANE_MOCK_STATE");
  const std::string path = named != nullptr && *named != '\0' ? named : private_path();
  return path.empty() ? nullptr : at(path, layout);
}

Mapping* Mapping::at(const std::string& path, const StateLayout& layout) {
  struct stat status {};
  const bool visible = ::stat(path.c_str(), &status) == 0;
  for (Mapping* m = all_mappings.load(std::memory_order_acquire); m != nullptr; m = m->next_) {
    if (m->path_ != path || m->core_->vendor != layout.vendor) continue;
    // A user who may not see the directory any more keeps what his parent mapped.
    if (!visible || (status.st_dev == m->device_ && status.st_ino == m->inode_)) return m;
  }
  Mapping* mine = create(path, layout);
  if (mine == nullptr) {
    const int error = errno;
    (void)std::fprintf(stderr, "backplane mock: cannot use state file %s: %s\n", path.c_str(),
                       std::strerror(error));
    errno = error;
    return nullptr;
  }
  Mapping* head = all_mappings.load(std::memory_order_relaxed);
  do {
    mine->next_ = head;
  } while (!all_mappings.compare_exchange_weak(head, mine, std::memory_order_release));
  return mine;
}

Mapping* Mapping::create(const std::string& path, const StateLayout& layout) {
  FdOwner fd(open_or_create(path.c_str()));
  struct stat status {};
  if (fd.get() < 0 || ::flock(fd.get(), LOCK_EX) != 0 || ::fstat(fd.get(), &status) != 0) {
    return nullptr;
  }
  const bool fresh = status.st_size == 0;
  if (!S_ISREG(status.st_mode) ||
      (!fresh && static_cast<std::size_t>(status.st_size) != layout.size)) {
    errno = EINVAL;
    return nullptr;
  }
  if (fresh && ::ftruncate(fd.get(), static_cast<off_t>(layout.size)) != 0) return nullptr;
  void* base = ::mmap(nullptr, layout.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (base == MAP_FAILED) return nullptr;
  auto* core = static_cast<CoreState*>(base);
  if (core->magic == 0) set_up(*core, layout);  // fresh, or its creator died half way
  ::flock(fd.get(), LOCK_UN);
  if (core->magic != kMagic || core->vendor != layout.vendor || core->version != layout.version ||
      core->size != layout.size) {
    ::munmap(base, layout.size);
    errno = EINVAL;
    return nullptr;
  }
  return new Mapping(path, core, fd.release(), status.st_dev, status.st_ino);
}

Mapping* Mapping::first() noexcept { return all_mappings.load(std::memory_order_acquire); }

int Mapping::reopen(bool close_on_exec) const {
  const int flags = O_RDWR | O_NOFOLLOW | (close_on_exec ? O_CLOEXEC : 0);
  FdOwner fd(::open(path_.c_str(), flags));
  if (fd.get() < 0) return -1;
  if (!is_mine(fd.get())) {
    errno = ENODEV;
    return -1;
  }
  return fd.release();
}

int Mapping::open_or_share() const {
  const int fd = reopen();
  if (fd >= 0 || !is_mine(fd_)) return fd;
  return ::fcntl(fd_, F_DUPFD_CLOEXEC, 0);
}

bool Mapping::is_mine(int fd) const {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return false;
  if (status.st_dev == device_ && status.st_ino == inode_) return true;
  errno = ENOTTY;
  return false;
}

bool Mapping::lock_held(std::uint64_t slot) const {
  FdOwner opened(is_mine(fd_) ? -1 : reopen());
  const int fd = opened.get() >= 0 ? opened.get() : fd_;
  if (!is_mine(fd)) return true;  // cannot tell: nothing is destroyed on a guess
  struct flock query {};
  query.l_type = F_WRLCK;
  query.l_whence = SEEK_SET;
  query.l_start = kLockBase + static_cast<off_t>(slot);
  query.l_len = 1;
  return ::fcntl(fd, F_OFD_GETLK, &query) != 0 || query.l_type != F_UNLCK;
}

bool take_lock(int fd, std::uint64_t slot) {
  struct flock wanted {};
  wanted.l_type = F_WRLCK;
  wanted.l_whence = SEEK_SET;
  wanted.l_start = kLockBase + static_cast<off_t>(slot);
  wanted.l_len = 1;
  return ::fcntl(fd, F_OFD_SETLK, &wanted) == 0;
}

StateGuard::StateGuard(CoreState& state) noexcept : state_(state) {
  if (::pthread_mutex_lock(&state_.lock) == EOWNERDEAD) {
    ++state_.lock_owner_deaths;
    ::pthread_mutex_consistent(&state_.lock);
  }
}

StateGuard::~StateGuard() { ::pthread_mutex_unlock(&state_.lock); }

uid_t caller_uid() {
  const char* text = std::getenv("BACKPLANE_MOCK_UID");
  if (text == nullptr || *text == '\0') return ::geteuid();
  return static_cast<uid_t>(std::strtoul(text, nullptr, 10));
}

Arguments::Arguments(const char* format, ...) : text_{} {
  va_list list;
  va_start(list, format);
  (void)std::vsnprintf(text_, sizeof text_, format, list);
  va_end(list);
}

Injection next_injection(CoreState& state, const char* function) {
  Injection injection;
  std::int64_t delay = 0;
  bool kill_now = false;
  {
    const StateGuard guard(state);
    for (Rule& rule : state.rules) {
      if (rule.action == Action::none || std::strcmp(rule.function, function) != 0) continue;
      if (rule.every == 0 && --rule.countdown != 0) continue;
      if (rule.action == Action::fail) injection.error = static_cast<int>(rule.value);
      if (rule.action == Action::delay) delay = rule.value;
      if (rule.action == Action::kill_before) kill_now = true;
      if (rule.action == Action::kill_after) injection.kill_after = true;
      if (rule.every == 0) rule = Rule{};
    }
  }
  if (delay > 0) {
    timespec left{delay / 1000, (delay % 1000) * 1000000};
    while (::nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
  }
  if (kill_now) kill_caller();
  return injection;
}

void record_call(CoreState& state, const char* function, const Arguments& arguments, int node,
                 std::int64_t result, int error) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  TraceEntry& entry = state.trace[state.next_sequence % kTraceCapacity];
  entry.sequence = state.next_sequence++;
  entry.nanoseconds = static_cast<std::uint64_t>(now.tv_sec) * 1000000000ULL +
                      static_cast<std::uint64_t>(now.tv_nsec);
  entry.result = result;
  entry.pid = ::getpid();
  entry.uid = caller_uid();
  entry.node = node;
  entry.error = error;
  (void)std::snprintf(entry.function, sizeof entry.function, "%s", function);
  (void)std::snprintf(entry.arguments, sizeof entry.arguments, "%s", arguments.text());
}

void kill_caller() {
  ::kill(::getpid(), SIGKILL);
  for (;;) ::pause();
}

bool add_rule(CoreState& state, const char* function, std::uint64_t nth, Action action,
              std::int64_t value) {
  if (std::strlen(function) >= kNameSize) return false;
  for (Rule& rule : state.rules) {
    if (rule.action != Action::none) continue;
    rule.every = nth == 0 ? 1 : 0;
    rule.countdown = nth;
    rule.value = value;
    (void)std::snprintf(rule.function, sizeof rule.function, "%s", function);
    rule.action = action;
    return true;
  }
  return false;
}

}  // namespace backplane_mock
