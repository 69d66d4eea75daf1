// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_ledger.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#include "hal/bytes.h"
#include "host/descendants.h"

namespace hal::host {
namespace {

constexpr std::string_view kHead = "backplane-ledger 1";
constexpr std::size_t kMaxLedger = std::size_t{64} << 20;
constexpr std::size_t kMaxNodes = std::size_t{1} << 20;

std::string hex32(std::uint32_t value) {
  std::array<char, 8> text;
  for (std::size_t digit = 0; digit < text.size(); ++digit) {
    text[7 - digit] = "0123456789abcdef"[(value >> (4 * digit)) & 0xf];
  }
  return {text.data(), text.size()};
}

std::string checked_line(std::string_view content) {
  return hex32(crc32c(as_bytes(content))) + " " + std::string(content) + "\n";
}

std::string hex_bytes(std::span<const std::byte> bytes) {
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const auto byte : bytes) {
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) >> 4];
    text += "0123456789abcdef"[std::to_integer<unsigned>(byte) & 0xf];
  }
  return text;
}

std::optional<std::vector<std::byte>> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) return std::nullopt;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data() + at, text.data() + at + 2, value, 16);
    if (error != std::errc{} || end != text.data() + at + 2) return std::nullopt;
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

std::string mark_text(const ProcessMark& mark) {
  return std::to_string(mark.pid) + ":" + std::to_string(mark.start_time);
}

/// Words of one line, read from the left; `ok` is false after the first that does not fit.
struct Words {
  std::string_view rest;
  bool ok = true;

  std::string_view word() {
    const auto blank = rest.find(' ');
    const auto found = rest.substr(0, blank);
    rest = blank == std::string_view::npos ? std::string_view{} : rest.substr(blank + 1);
    ok = ok && !found.empty();
    return found;
  }

  template <class T>
  T number(std::string_view text) {
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    ok = ok && error == std::errc{} && end == text.data() + text.size();
    return value;
  }

  template <class T>
  T number() {
    return number<T>(word());
  }

  ProcessMark mark() {
    const auto text = word();
    const auto colon = text.find(':');
    if (colon == std::string_view::npos) {
      ok = false;
      return {};
    }
    ProcessMark found{.pid = number<pid_t>(text.substr(0, colon)),
                      .start_time = number<std::uint64_t>(text.substr(colon + 1))};
    ok = ok && found.pid > 1;
    return found;
  }
};

bool take_step_line(Words& words, StepHolding& holding) {
  holding.job = JobId{words.number<std::uint32_t>()};
  holding.step = StepId{words.number<std::uint32_t>()};
  holding.shape = words.word() == "late" ? StepShape::late : StepShape::v0;
  holding.nodes = std::string(words.word());
  return words.ok;
}

bool take_node_line(std::string_view key, Words& words, StepHolding& holding) {
  const auto index = words.number<std::uint32_t>();
  if (!words.ok || index >= kMaxNodes) return false;
  auto& node = holding.by_node[index];
  if (key == "manager") {
    node.manager = words.mark();
  } else if (key == "session") {
    node.session = words.mark();
    node.process_group = words.number<pid_t>();
    node.container_id = words.number<std::uint64_t>();
  } else if (key == "tasks") {
    while (words.ok && !words.rest.empty()) node.tasks.push_back(words.mark());
  } else if (key == "ended") {
    node.ended = true;
  } else {
    return false;
  }
  return words.ok;
}

bool take_line(std::string_view line, StepHolding& holding) {
  Words words{line};
  const auto key = words.word();
  if (key == "run") {
    holding.owner = words.mark();
    holding.boot = std::string(words.word());
  } else if (key == "step") {
    return take_step_line(words, holding);
  } else if (key == "plugin") {
    const auto family = std::string(words.word());
    holding.plugins[family] = std::string(words.word());
  } else if (key == "credential") {
    auto bytes = from_hex(words.rest);
    if (!bytes) return false;
    holding.credential = Credential(std::move(*bytes));
  } else {
    return take_node_line(key, words, holding);
  }
  return words.ok;
}

Result<StepHolding> read_ledger(int directory_fd, const char* name) {
  const UniqueFd fd(::openat(directory_fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    return fail_errno(errno, "ledger '" + std::string(name) + "'");
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid() || size > kMaxLedger) {
    return fail(Errc::corrupt, EBADMSG, "ledger '" + std::string(name) + "': not a file of ours");
  }
  std::string text(size, '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return fail_errno(errno, "ledger '" + std::string(name) + "'");
  text.resize(static_cast<std::size_t>(got));
  return with_context(parse_ledger(text), "ledger '" + std::string(name) + "'");
}

}  // namespace

bool StepHolding::same_boot() const { return boot == boot_id(); }

bool StepHolding::owner_alive() const {
  return same_boot() && is_alive(owner.pid, owner.start_time);
}

std::string ledger_name(JobId job, StepId step) {
  return std::to_string(to_number(job)) + "." + std::to_string(to_number(step));
}

Result<StepLedger> StepLedger::create(int directory_fd, const StepHolding& holding) {
  StepLedger ledger;
  ledger.directory_fd_ = directory_fd;
  ledger.name_ = ledger_name(holding.job, holding.step);
  ledger.fd_.reset(::openat(directory_fd, ledger.name_.c_str(),
                            O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!ledger.fd_) return fail_errno(errno, "ledger '" + ledger.name_ + "'");
  std::string text = checked_line(kHead);
  text += checked_line("run " + mark_text(holding.owner) + " " + holding.boot);
  text += checked_line("step " + std::to_string(to_number(holding.job)) + " " +
                       std::to_string(to_number(holding.step)) + " " + to_string(holding.shape) +
                       " " + holding.nodes);
  for (const auto& [family, type] : holding.plugins) {
    text += checked_line("plugin " + family + " " + type);
  }
  text += checked_line("credential " + hex_bytes(holding.credential.wire()));
  const ssize_t written = ::write(ledger.fd_.get(), text.data(), text.size());
  const int error = written < 0 ? errno : ENOSPC;
  wipe(std::as_writable_bytes(std::span(text)));
  if (written != static_cast<ssize_t>(text.size())) {
    ledger.remove();
    return fail_errno(error, "ledger '" + ledger.name_ + "'");
  }
  return ledger;
}

void StepLedger::append(std::string_view line) {
  const auto text = checked_line(line);
  // A full disk costs only what a sweep after a crash could have known.
  (void)!::write(fd_.get(), text.data(), text.size());
}

void StepLedger::manager_started(std::uint32_t node, const ProcessMark& manager) {
  append("manager " + std::to_string(node) + " " + mark_text(manager));
}

void StepLedger::session_ready(std::uint32_t node, const ProcessMark& session,
                               const SessionReady& ready) {
  append("session " + std::to_string(node) + " " + mark_text(session) + " " +
         std::to_string(ready.process_group) + " " + std::to_string(ready.container_id));
}

void StepLedger::tasks_started(std::uint32_t node, std::span<const TaskBirth> tasks) {
  std::string line = "tasks " + std::to_string(node);
  for (const auto& task : tasks) {
    line += " " + mark_text({.pid = task.pid, .start_time = task.start_time});
  }
  append(line);
}

void StepLedger::node_ended(std::uint32_t node) { append("ended " + std::to_string(node)); }

void StepLedger::remove() {
  ::unlinkat(directory_fd_, name_.c_str(), 0);
  fd_.reset();
}

Result<StepHolding> parse_ledger(std::string_view text) {
  StepHolding holding;
  bool head = false;
  for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
    const auto line = text.substr(0, end);
    text.remove_prefix(end + 1);
    if (line.size() < 9 || line.substr(0, 8) != hex32(crc32c(as_bytes(line.substr(9))))) break;
    const auto content = line.substr(9);
    if (!head) {
      if (content != kHead) break;
      head = true;
    } else if (!take_line(content, holding)) {
      break;
    }
  }
  if (!head || holding.owner.pid == 0 || holding.nodes.empty()) {
    return fail(Errc::corrupt, EBADMSG, "damaged before it names its owner and nodes");
  }
  return holding;
}

Result<std::vector<FoundLedger>> read_ledgers(int directory_fd) {
  const int copy = ::openat(directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::fdopendir(copy), ::closedir);
  if (!directory) return fail_errno(errno, "ledger directory");
  std::vector<FoundLedger> found;
  while (const dirent* entry = ::readdir(directory.get())) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    found.push_back({entry->d_name, read_ledger(directory_fd, entry->d_name)});
  }
  std::ranges::sort(found, {}, &FoundLedger::name);
  return found;
}

}  // namespace hal::host
