// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <optional>

#include <CLI/CLI.hpp>

#include "tools/backplane/verbs.h"

namespace backplane {

/// Parses a verb's arguments. Nothing: go on. A number: leave with that exit code; help has been
/// printed, or the mistake with a hint.
inline std::optional<int> parse_arguments(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
    return std::nullopt;
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& mistake) {
    return complain(std::string(mistake.what()) + "; see \"backplane help " + argv[0] + "\"",
                    kExitUsage);
  }
}

}  // namespace backplane
