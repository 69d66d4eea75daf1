// SPDX-License-Identifier: BSD-3-Clause
#include "backends/linux/procfs.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <sys/syscall.h>
#include <unistd.h>

namespace hal::linux_host {
namespace {

constexpr std::uint32_t kKernelThreadFlag = 0x00200000;  // PF_KTHREAD
constexpr std::size_t kLongestStat = 4096;

/// Takes blank-separated fields off the front of a text.
class Fields {
 public:
  explicit Fields(std::string_view text) : rest_(text) {}

  std::string_view next() noexcept {
    const auto begin = rest_.find_first_not_of(' ');
    if (begin == std::string_view::npos) return {};
    rest_.remove_prefix(begin);
    const auto size = std::min(rest_.find_first_of(" \n"), rest_.size());
    const auto field = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return field;
  }

  void skip(int count) noexcept {
    while (count-- > 0) static_cast<void>(next());
  }

  template <class T>
  bool number(T& value) noexcept {
    const auto field = next();
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), value);
    return error == std::errc() && end == field.data() + field.size() && !field.empty();
  }

 private:
  std::string_view rest_;
};

/// Reads a small file below `directory` into `buffer`; the size, or -1 with errno.
template <std::size_t Size>
ssize_t read_file(int directory, const char* path, std::array<char, Size>& buffer) noexcept {
  const UniqueFd file(::openat(directory, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file) return -1;
  std::size_t filled = 0;
  while (filled < buffer.size()) {
    const ssize_t got = ::read(file.get(), buffer.data() + filled, buffer.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (buffer[filled - 1] == '\n') break;  // a stat line is complete: saves the read at the end
  }
  return static_cast<ssize_t>(filled);
}

/// "<pid>/<leaf>" without allocating.
class PidPath {
 public:
  PidPath(pid_t pid, std::string_view leaf) noexcept {
    char* end = std::to_chars(text_.data(), text_.data() + 12, pid).ptr;
    *end++ = '/';
    end = std::copy(leaf.begin(), leaf.end(), end);
    *end = '\0';
  }
  [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

 private:
  std::array<char, 32> text_;
};

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(
      result.begin(), result.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return result;
}

}  // namespace

bool ProcStat::is_dead() const noexcept {
  if (state == 'X' || state == 'x') return true;
  return state == 'Z' && thread_count <= 1;
}

bool ProcStat::is_kernel_thread() const noexcept { return (flags & kKernelThreadFlag) != 0; }

std::optional<ProcStat> parse_proc_stat(std::string_view text) noexcept {
  const auto open = text.find('(');
  const auto close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) return {};

  ProcStat stat;
  Fields head(text.substr(0, open));
  if (!head.number(stat.pid) || stat.pid <= 0 || !head.next().empty()) return {};
  const auto name = text.substr(open + 1, close - open - 1);
  const auto kept = name.substr(0, stat.name_bytes.size());
  std::copy(kept.begin(), kept.end(), stat.name_bytes.begin());
  stat.name_size = static_cast<std::uint8_t>(kept.size());

  Fields tail(text.substr(close + 1));
  const auto state = tail.next();
  if (state.size() != 1) return {};
  stat.state = state.front();
  if (!tail.number(stat.parent) || !tail.number(stat.group) || !tail.number(stat.session))
    return {};
  tail.skip(2);  // tty_nr, tpgid
  if (!tail.number(stat.flags)) return {};
  tail.skip(10);  // faults, times, priorities
  if (!tail.number(stat.thread_count)) return {};
  tail.skip(1);  // itrealvalue
  if (!tail.number(stat.start_ticks)) return {};
  return stat;
}

pid_t parse_pid(std::string_view name) noexcept {
  pid_t pid = 0;
  if (name.empty() || name.front() < '1' || name.front() > '9') return 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
  return error == std::errc() && end == name.data() + name.size() ? pid : 0;
}

Result<ProcFs> ProcFs::open(const std::string& root) {
  UniqueFd fd(::open(root.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd) {
    const int error = errno;
    return fail(Errc::no_device, error,
                "open the process tree " + root + ": " + ::strerrordesc_np(error) +
                    "; mount a proc file system there");
  }
  return ProcFs(std::move(fd));
}

Result<> ProcFs::require_own_namespace() const {
  std::array<char, 16> target;
  const ssize_t size = ::readlinkat(root_.get(), "self", target.data(), target.size());
  if (size > 0 &&
      parse_pid(std::string_view(target.data(), static_cast<std::size_t>(size))) == ::getpid()) {
    return {};
  }
  return fail(Errc::no_device, ENODEV,
              "/proc shows another PID namespace than this process is in, or is not a process "
              "tree: mount a proc file system of this namespace there");
}

std::optional<ProcStat> ProcFs::find(pid_t pid) const noexcept {
  if (pid <= 0) return {};
  std::array<char, kLongestStat> text;
  const ssize_t size = read_file(root_.get(), PidPath(pid, "stat").c_str(), text);
  if (size <= 0) return {};
  return parse_proc_stat({text.data(), static_cast<std::size_t>(size)});
}

Result<ProcStat> ProcFs::stat(pid_t pid) const {
  errno = 0;
  if (auto stat = find(pid)) return *stat;
  const int error = pid <= 0 || errno == ENOENT ? ESRCH : errno;
  const std::string what = "read the state of process " + std::to_string(pid);
  if (error == 0) return fail(Errc::corrupt, EBADMSG, what + ": its stat file does not parse");
  return fail_errno(error, what);
}

std::string ProcFs::describe(pid_t pid) const {
  const auto stat = find(pid);
  if (!stat) return "gone";
  std::string text = printable(stat->name()) + ", state " + printable({&stat->state, 1});
  std::array<char, 64> place;
  const ssize_t size = read_file(root_.get(), PidPath(pid, "wchan").c_str(), place);
  if (size > 1) {
    text += " in " + printable({place.data(), static_cast<std::size_t>(size)});
  }
  return text;
}

PidScan::PidScan(const ProcFs& proc) noexcept
    // Not dup: a duplicate would share the directory position with scans of other threads.
    : directory_(::openat(proc.descriptor(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (!directory_) error_ = errno;
}

bool PidScan::refill() noexcept {
  if (error_ != 0 || !directory_) return false;
  const long got = ::syscall(SYS_getdents64, directory_.get(), block_.data(), block_.size());
  if (got < 0) error_ = errno;
  used_ = 0;
  filled_ = got > 0 ? static_cast<std::size_t>(got) : 0;
  return filled_ > 0;
}

pid_t PidScan::next() noexcept {
  // struct linux_dirent64: inode and offset of 8 bytes, record size of 2, type of 1, name.
  constexpr std::size_t kSizeOffset = 16;
  constexpr std::size_t kNameOffset = 19;
  while (used_ < filled_ || refill()) {
    std::uint16_t size = 0;
    std::memcpy(&size, block_.data() + used_ + kSizeOffset, sizeof size);
    if (size <= kNameOffset || size > filled_ - used_) {
      error_ = EBADMSG;
      filled_ = used_ = 0;
      return 0;
    }
    const char* name = block_.data() + used_ + kNameOffset;
    const pid_t pid = parse_pid({name, ::strnlen(name, size - kNameOffset)});
    used_ += size;
    if (pid > 0) return pid;
  }
  return 0;
}

}  // namespace hal::linux_host
