// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>

#include "tools/backplane/verbs.h"

namespace {

using namespace backplane;

int print_overview() {
  std::puts(
      "usage: backplane VERB [OPTION...]\n"
      "\n"
      "Plays the daemons of a resource manager on this box, through the same plugin files.\n"
      "\n"
      "verbs:");
  for (const Verb& verb : verbs()) {
    std::printf("  %-10s %s\n", verb.name.data(), verb.summary.data());
  }
  std::puts(
      "\n"
      "  backplane help VERB      what a verb does and its options\n"
      "  backplane --version      version of this command\n"
      "\n"
      "exit codes: 0 done, 1 a problem was found, 2 wrong use");
  return kExitOk;
}

int unknown_verb(std::string_view word) {
  const std::string_view near = suggest_verb(word);
  std::string message = "no verb \"" + std::string(word.substr(0, 64)) + "\"; ";
  message +=
      near.empty() ? "see \"backplane help\"" : "did you mean \"" + std::string(near) + "\"?";
  return complain(message, kExitUsage);
}

const Verb* find_verb(std::string_view name) {
  for (const Verb& verb : verbs()) {
    if (verb.name == name) return &verb;
  }
  return nullptr;
}

int help(int argc, char** argv) {
  if (argc < 3) return print_overview();
  const Verb* const verb = find_verb(argv[2]);
  if (verb == nullptr) return unknown_verb(argv[2]);
  std::array<char, 7> option{'-', '-', 'h', 'e', 'l', 'p', '\0'};
  std::array<char*, 3> arguments{argv[2], option.data(), nullptr};
  return verb->run(2, arguments.data());
}

int dispatch(int argc, char** argv) {
  if (argc < 2) {
    print_overview();
    return kExitUsage;
  }
  const std::string_view word = argv[1];
  if (word == "--version" || word == "-V" || word == "version") {
    std::puts("backplane " BACKPLANE_VERSION);
    return kExitOk;
  }
  if (word == "help" || word == "--help" || word == "-h") return help(argc, argv);
  if (const Verb* const verb = find_verb(word)) return verb->run(argc - 1, argv + 1);
  return unknown_verb(word);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
      return complain("standard output: cannot write", kExitProblem);
    }
    return code;
  } catch (const std::exception& error) {
    return complain(error.what(), kExitProblem);
  }
}
