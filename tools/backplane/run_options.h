// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "hal/result.h"
#include "host/families.h"
#include "host/site_conf.h"
#include "host/step_request.h"

namespace backplane {

/// The command line of `backplane run`, as given.
struct RunOptions {
  std::optional<std::string> nodes;           ///< -N
  std::optional<std::string> tasks;           ///< -n
  std::optional<std::string> tasks_per_node;  ///< --ntasks-per-node
  std::optional<std::string> node_list;       ///< -w
  std::string distribution = "block";         ///< -m
  std::string export_list = "ALL";
  std::optional<std::string> directory;  ///< -D
  std::optional<std::string> user;       ///< --uid
  std::optional<std::string> group;      ///< --gid
  std::optional<std::string> time;       ///< -t
  std::string kill_wait = "30";
  std::string input;
  std::string output;
  std::string error;
  std::string shape = "v0";
  bool label = false;
  bool kill_on_bad_exit = false;
  bool overcommit = false;
  bool quiet = false;
  int verbose = 0;

  std::string conf;
  std::string plugin_dir;
  std::string state_dir;
  std::string hal_conf;
  std::array<std::string, hal::host::kFamilyCount> types;  ///< by family; empty: as configured
  std::optional<std::string> trace;                        ///< "": text on standard error
  std::optional<std::string> json;                         ///< "": standard output

  std::vector<std::string> command;
  bool help = false;
};

/// Reads the arguments behind the verb; options end at `--` or at the first other word.
/// @return invalid_argument: unknown option, or one without its value.
[[nodiscard]] hal::Result<RunOptions> parse_run_options(int argc, char** argv);

void print_run_help();

/// Checks everything and fills in the defaults. `environment` is the caller's.
/// @return invalid_argument and the kinds of find_identity.
[[nodiscard]] hal::Result<hal::host::StepRequest> make_request(const RunOptions& options,
                                                               char** environment);

/// "minutes", "mm:ss", "hh:mm:ss", "d-hh", "d-hh:mm", "d-hh:mm:ss" as seconds.
[[nodiscard]] hal::Result<long> parse_time(const std::string& text);

}  // namespace backplane
