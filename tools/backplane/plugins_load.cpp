// SPDX-License-Identifier: BSD-3-Clause
#include "tools/backplane/plugins_load.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "hal/vendor_library.h"
#include "host/plugin.h"

namespace backplane {
namespace {

constexpr std::size_t kMaxReason = 4096;

[[noreturn]] void open_and_leave(const hal::host::PluginReport& report, int answer) {
  std::vector<std::byte> functions(report.family->functions_size);
  auto plugin = hal::host::Plugin::open_file(report.family->family, report.file, functions.data());
  std::string reason;
  if (!plugin) {
    reason = plugin.error().detail;
  } else {
    plugin->close();
  }
  const std::string text = reason.substr(0, kMaxReason);
  const bool told = ::write(answer, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  ::_exit(told ? 0 : 1);
}

std::string read_reason(int fd) {
  std::string text(kMaxReason, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

void add(hal::host::PluginReport& report, std::string what) {
  report.findings.push_back({true, std::move(what), "see the plugin's own documentation"});
}

}  // namespace

void load_in_child(hal::host::PluginReport& report) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return add(report, "no pipe for the test load");
  hal::UniqueFd reader(ends[0]);
  hal::UniqueFd writer(ends[1]);
  (void)std::fflush(nullptr);
  const pid_t child = ::fork();
  if (child < 0) return add(report, "no process for the test load");
  if (child == 0) open_and_leave(report, writer.get());
  writer.reset();
  const std::string reason = read_reason(reader.get());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) {
    add(report, "opening it ended the process with signal " + std::to_string(WTERMSIG(status)));
  } else if (!reason.empty()) {
    add(report, reason);
  } else if (WEXITSTATUS(status) != 0) {
    add(report, "opening it ended the process");
  }
}

}  // namespace backplane
