// SPDX-License-Identifier: BSD-3-Clause
// The command that looks into a mock kernel from outside: what is left, what was called.
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "tests/mocks/elan/mock_control.h"

namespace {

using backplane_mock::ElanMock;

constexpr const char* kUsage =
    "usage: backplane-mock [--state FILE] COMMAND\n"
    "  report                   what is left in the mock kernel; exit code 1 if anything is\n"
    "  trace                    every vendor call, in order\n"
    "  reset                    forget everything\n"
    "  inject FUNCTION N ERRNO  the N-th call from now fails (0: every call)\n"
    "  delay FUNCTION N MS      the N-th call from now takes so long\n"
    "  kill FUNCTION N before|after\n"
    "                           the N-th call ends its process before or after its effect\n"
    "  set OPTION VALUE         change the mock kernel; `options` lists them\n"
    "  options                  all options with their values\n"
    "  nodes [NAME ID]          names whose Elan id is not the number at their end; add one\n"
    "FILE defaults to the environment's BACKPLANE_MOCK_STATE.\n";

int usage(const std::string& problem) {
  (void)std::fprintf(stderr, "backplane-mock: %s\n%s", problem.c_str(), kUsage);
  return 2;
}

bool parse_number(const std::string& text, long& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtol(text.c_str(), &end, 0);
  return errno == 0 && end != text.c_str() && *end == '\0';
}

// A number, or a name such as ENOMEM.
bool parse_errno(const std::string& text, long& value) {
  if (parse_number(text, value)) return value > 0;
  for (int number = 1; number < 200; ++number) {
    const char* name = ::strerrorname_np(number);
    if (name == nullptr || text != name) continue;
    value = number;
    return true;
  }
  return false;
}

int report(ElanMock& mock) {
  const std::vector<std::string> leaks = mock.leaks();
  for (const std::string& line : leaks) std::printf("%s\n", line.c_str());
  if (leaks.empty()) std::printf("nothing is left\n");
  return leaks.empty() ? 0 : 1;
}

int add_rule(ElanMock& mock, const std::vector<std::string>& words) {
  long nth = 0;
  long value = 0;
  if (words.size() != 4 || !parse_number(words[2], nth) || nth < 0) {
    return usage(words[0] + " needs a function, a number and a value");
  }
  const auto n = static_cast<std::uint64_t>(nth);
  bool done = false;
  if (words[0] == "inject") {
    if (!parse_errno(words[3], value)) return usage("no such errno: " + words[3]);
    done = mock.inject(words[1], n, static_cast<int>(value));
  } else if (words[0] == "delay") {
    if (!parse_number(words[3], value) || value < 0) return usage("no such time: " + words[3]);
    done = mock.delay(words[1], n, value);
  } else if (words[3] == "before" || words[3] == "after") {
    done = words[3] == "before" ? mock.kill_before(words[1], n) : mock.kill_after(words[1], n);
  } else {
    return usage("kill needs before or after");
  }
  if (done) return 0;
  return usage("rule refused: the name is too long or the table is full (reset empties it)");
}

int show_or_set_nodes(ElanMock& mock, const std::vector<std::string>& words) {
  long id = 0;
  if (words.size() == 3) {
    if (!parse_number(words[2], id) || !mock.set_node(words[1], static_cast<int>(id))) {
      return usage("node refused: " + words[1]);
    }
    return 0;
  }
  for (const auto& [name, elan_id] : mock.nodes()) std::printf("%s %d\n", name.c_str(), elan_id);
  return 0;
}

int set_option(ElanMock& mock, const std::vector<std::string>& words) {
  long value = 0;
  if (words.size() != 3 || !parse_number(words[2], value)) {
    return usage("set needs an option and a number");
  }
  return mock.set_option(words[1], value) ? 0 : usage("no such option: " + words[1]);
}

int run(ElanMock& mock, const std::vector<std::string>& words) {
  const std::string& command = words[0];
  if (command == "report") return report(mock);
  if (command == "set") return set_option(mock, words);
  if (command == "nodes") return show_or_set_nodes(mock, words);
  if (command == "inject" || command == "delay" || command == "kill") return add_rule(mock, words);
  if (command == "trace") {
    for (const auto& call : mock.trace()) std::printf("%s\n", to_string(call).c_str());
    return 0;
  }
  if (command == "options") {
    for (const auto& [name, value] : mock.options()) {
      std::printf("%s %lld\n", name.c_str(), static_cast<long long>(value));
    }
    return 0;
  }
  if (command == "reset") {
    mock.reset();
    return 0;
  }
  return usage("no such command: " + command);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  std::string path;
  if (const char* named = std::getenv("BACKPLANE_MOCK_STATE")) path = named;
  if (words.size() >= 2 && words[0] == "--state") {
    path = words[1];
    words.erase(words.begin(), words.begin() + 2);
  }
  if (!words.empty() && (words[0] == "--help" || words[0] == "-h")) {
    (void)std::fputs(kUsage, stdout);
    return 0;
  }
  if (words.empty()) return usage("no command");
  if (path.empty()) return usage("no state file: give --state FILE");
  auto mock = ElanMock::open(path);
  if (!mock) return 2;  // the reason has been printed
  return run(*mock, words);
}
