// SPDX-License-Identifier: BSD-3-Clause
#include "tools/backplane/run_options.h"

#include <cerrno>
#include <cstdio>
#include <getopt.h>
#include <utility>

namespace backplane {
namespace {

using hal::Errc;
using hal::host::Family;

enum LongOnly : int {
  kTasksPerNode = 1000,
  kExport,
  kUid,
  kGid,
  kConf,
  kPluginDir,
  kStateDir,
  kHalConf,
  kShape,
  kTrace,
  kJson,
  kQuiet,
  kKillWait,
  kHelp,
  kFamily,  ///< and the family's number
};

constexpr int family_option(Family family) { return kFamily + static_cast<int>(family); }

constexpr option kOptions[] = {
    {"nodes", required_argument, nullptr, 'N'},
    {"ntasks", required_argument, nullptr, 'n'},
    {"ntasks-per-node", required_argument, nullptr, kTasksPerNode},
    {"nodelist", required_argument, nullptr, 'w'},
    {"distribution", required_argument, nullptr, 'm'},
    {"label", no_argument, nullptr, 'l'},
    {"chdir", required_argument, nullptr, 'D'},
    {"input", required_argument, nullptr, 'i'},
    {"output", required_argument, nullptr, 'o'},
    {"error", required_argument, nullptr, 'e'},
    {"export", required_argument, nullptr, kExport},
    {"uid", required_argument, nullptr, kUid},
    {"gid", required_argument, nullptr, kGid},
    {"time", required_argument, nullptr, 't'},
    {"kill-wait", required_argument, nullptr, kKillWait},
    {"kill-on-bad-exit", optional_argument, nullptr, 'K'},
    {"overcommit", no_argument, nullptr, 'O'},
    {"quiet", no_argument, nullptr, kQuiet},
    {"verbose", no_argument, nullptr, 'v'},
    {"conf", required_argument, nullptr, kConf},
    {"plugin-dir", required_argument, nullptr, kPluginDir},
    {"state-dir", required_argument, nullptr, kStateDir},
    {"hal-conf", required_argument, nullptr, kHalConf},
    {"shape", required_argument, nullptr, kShape},
    {"trace", optional_argument, nullptr, kTrace},
    {"json", optional_argument, nullptr, kJson},
    {"switch", required_argument, nullptr, family_option(Family::interconnect)},
    {"proctrack", required_argument, nullptr, family_option(Family::proctrack)},
    {"job-container", required_argument, nullptr, family_option(Family::job_container)},
    {"core-spec", required_argument, nullptr, family_option(Family::core_spec)},
    {"jobacct", required_argument, nullptr, family_option(Family::jobacct)},
    {"help", no_argument, nullptr, kHelp},
    {nullptr, 0, nullptr, 0},
};

std::string value() { return optarg != nullptr ? optarg : ""; }

/// An option whose value is kept as given.
template <typename Text>
struct ValueOption {
  int letter;
  Text RunOptions::*place;
};

constexpr ValueOption<std::string> kTexts[] = {
    {'m', &RunOptions::distribution},
    {kExport, &RunOptions::export_list},
    {kKillWait, &RunOptions::kill_wait},
    {'i', &RunOptions::input},
    {'o', &RunOptions::output},
    {'e', &RunOptions::error},
    {kShape, &RunOptions::shape},
    {kConf, &RunOptions::conf},
    {kPluginDir, &RunOptions::plugin_dir},
    {kStateDir, &RunOptions::state_dir},
    {kHalConf, &RunOptions::hal_conf},
};

constexpr ValueOption<std::optional<std::string>> kTextsGivenOrNot[] = {
    {'N', &RunOptions::nodes},
    {'n', &RunOptions::tasks},
    {kTasksPerNode, &RunOptions::tasks_per_node},
    {'w', &RunOptions::node_list},
    {'D', &RunOptions::directory},
    {kUid, &RunOptions::user},
    {kGid, &RunOptions::group},
    {'t', &RunOptions::time},
    {kTrace, &RunOptions::trace},
    {kJson, &RunOptions::json},
};

/// False: not an option of `table`.
template <typename Text, std::size_t kSize>
bool take_value(RunOptions& options, int letter, const ValueOption<Text> (&table)[kSize]) {
  for (const auto& entry : table) {
    if (entry.letter != letter) continue;
    options.*entry.place = value();
    return true;
  }
  return false;
}

/// False: not the plugin of a family.
bool take_family(RunOptions& options, int letter) {
  if (letter < kFamily || letter >= kFamily + static_cast<int>(hal::host::kFamilyCount)) {
    return false;
  }
  options.types[static_cast<std::size_t>(letter - kFamily)] = value();
  return true;
}

/// Options that are not texts. False: not one of these.
bool take_flag(RunOptions& options, int letter) {
  switch (letter) {
    case 'l':
      options.label = true;
      break;
    case 'K':
      options.kill_on_bad_exit = value() != "0";
      break;
    case 'O':
      options.overcommit = true;
      break;
    case 'Q':
    case kQuiet:
      options.quiet = true;
      break;
    case 'v':
      ++options.verbose;
      break;
    case 'h':
    case kHelp:
      options.help = true;
      break;
    default:
      return false;
  }
  return true;
}

/// False: not an option of the command.
bool take_option(RunOptions& options, int letter) {
  return take_flag(options, letter) || take_value(options, letter, kTexts) ||
         take_value(options, letter, kTextsGivenOrNot) || take_family(options, letter);
}

}  // namespace

hal::Result<RunOptions> parse_run_options(int argc, char** argv) {
  RunOptions options;
  optind = 1;
  opterr = 0;
  while (true) {
    const int index = optind;
    const int letter = ::getopt_long(argc, argv, "+:N:n:w:m:lD:i:o:e:t:K::OvQh", kOptions, nullptr);
    if (letter == -1) break;
    if (letter == ':') {
      return hal::fail(Errc::invalid_argument, EINVAL,
                       "option " + std::string(argv[index]) + " needs a value");
    }
    if (!take_option(options, letter)) {
      return hal::fail(
          Errc::invalid_argument, EINVAL,
          "unknown option " + std::string(argv[index]) + "; \"backplane run --help\" lists them");
    }
  }
  options.command.assign(argv + optind, argv + argc);
  return options;
}

void print_run_help() {
  (void)std::fputs(
      "usage: backplane run [OPTION...] [--] PROGRAM [ARGUMENT...]\n"
      "\n"
      "Runs a job step on this box: controller, node managers and tasks as real processes, "
      "through\n"
      "the five plugins that the site configuration or the options name.\n"
      "\n"
      "step:\n"
      "  -N, --nodes=N              virtual nodes (default 1, or the length of -w)\n"
      "  -n, --ntasks=N             tasks (default one a node)\n"
      "      --ntasks-per-node=N    tasks on each node, at most when -n is given too\n"
      "  -w, --nodelist=LIST        node names, as in n[0-3] (default n0, n1, ...)\n"
      "  -m, --distribution=ORDER   block (default) or cyclic\n"
      "  -D, --chdir=DIRECTORY      working directory of the tasks\n"
      "      --export=LIST          ALL (default), NONE, or names and NAME=VALUE\n"
      "      --uid=USER --gid=GROUP run as somebody else (root only)\n"
      "  -t, --time=LIMIT           minutes, mm:ss, hh:mm:ss or d-hh:mm:ss\n"
      "      --kill-wait=SECONDS    between TERM and KILL (default 30)\n"
      "  -K, --kill-on-bad-exit     end the step when a task fails\n"
      "  -O, --overcommit           tell the tasks so (SLURM_OVERCOMMIT)\n"
      "streams:\n"
      "  -i, --input=WHERE          all (default), none, a task, or a file\n"
      "  -o, --output=WHERE         the same; in file names: %j %J %s %n %N %t %u %%\n"
      "  -e, --error=WHERE          the same (default: as the output)\n"
      "  -l, --label                put the task's rank in front of each line\n"
      "  -Q, --quiet                fewer messages\n"
      "  -v, --verbose              a table of the tasks, plugins and survivors afterwards\n"
      "plugins:\n"
      "      --switch=TYPE --proctrack=TYPE --job-container=TYPE --core-spec=TYPE --jobacct=TYPE\n"
      "      --conf=FILE            site configuration, in the form of slurm.conf\n"
      "      --plugin-dir=PATH      directories of the plugins\n"
      "      --hal-conf=FILE        vendor libraries and options\n"
      "      --state-dir=DIRECTORY  state shared by all runs\n"
      "      --shape=v0|late        three processes a node, or two\n"
      "      --trace[=FILE]         every plugin call; a FILE.json is a timeline\n"
      "      --json[=FILE]          the outcome as one JSON object\n"
      "\n"
      "exit code: the highest of the tasks, 128 + signal for a killed one, 126 or 127 for a "
      "program\n"
      "that cannot be run, at least 124 after the time limit, 1 when the step failed, 2 wrong "
      "use\n",
      stdout);
}

}  // namespace backplane
