// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace backplane {

/// Exit codes of the command. A verb that runs a program of the user's has its own rule.
inline constexpr int kExitOk = 0;
inline constexpr int kExitProblem = 1;
inline constexpr int kExitUsage = 2;

/// One `backplane VERB`. `run` gets the arguments from the verb on and answers the exit code; it
/// builds its own argument parser, so that a verb pays for no other.
struct Verb {
  std::string_view name;
  std::string_view summary;
  int (*run)(int argc, char** argv);
};

/// All verbs in the order in which help lists them.
[[nodiscard]] std::span<const Verb> verbs() noexcept;

/// The verb nearest to a misspelt one, or empty when none is near.
[[nodiscard]] std::string_view suggest_verb(std::string_view word) noexcept;

/// Prints "backplane: <message>" on standard error; answers `code`.
int complain(std::string_view message, int code = kExitProblem);

int plugins_main(int argc, char** argv);
int run_main(int argc, char** argv);

}  // namespace backplane
