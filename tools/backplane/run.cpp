// SPDX-License-Identifier: BSD-3-Clause
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

#include "hal/host.h"
#include "hal/vendor_library.h"
#include "host/controller.h"
#include "host/host_symbol.h"
#include "host/plugin_set.h"
#include "host/site_conf.h"
#include "host/step_launcher.h"
#include "host/step_outcome.h"
#include "tools/backplane/run_options.h"
#include "tools/backplane/verbs.h"

namespace backplane {
namespace {

using namespace hal::host;
using hal::Result;

int g_log_limit = static_cast<int>(hal::LogLevel::error);

/// Lines of the plugins; one write each, so that those of several processes do not mix.
void log_line(std::int32_t level, const char* message) {
  if (level > g_log_limit) return;
  const auto& block = exported_block();
  std::string line = "backplane: ";
  if (block.node_name != nullptr) line += std::string(block.node_name) + ": ";
  line += message;
  line += '\n';
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

void say(const std::string& text) {
  const auto line = "backplane: " + text + "\n";
  (void)!::write(STDERR_FILENO, line.data(), line.size());
}

/// A file opened later must not become somebody's standard stream.
void fill_standard_descriptors() {
  int fd;
  do {
    fd = ::open("/dev/null", O_RDWR);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

Result<SiteConf> choose_conf(const RunOptions& options) {
  auto conf = SiteConf::load_for_command(options.conf);
  if (!conf) return conf;
  for (const auto& family : families()) {
    const auto& type = options.types[static_cast<std::size_t>(family.family)];
    if (type.empty()) continue;
    if (auto chosen = conf->set_type(family.family, type); !chosen) {
      return hal::propagate(std::move(chosen));
    }
  }
  if (!options.plugin_dir.empty()) conf->set_plugin_dir(options.plugin_dir);
  if (!options.state_dir.empty()) conf->set_state_save_location(options.state_dir);
  if (!options.hal_conf.empty()) conf->set_hal_conf(options.hal_conf);
  if (options.verbose > 0) {
    for (const auto& warning : conf->warnings()) say(warning);
  }
  return conf;
}

/// The demonstration runs on mock libraries, which keep their "kernel" in a file and believe an
/// ordinary user to be root, so that everybody can try it.
void prepare_vendor_libraries(const SiteConf& conf, const std::string& state_dir) {
  const auto choice = locate_hal_conf(conf);
  publish_hal_conf(choice.path);
  if (!choice.is_demo || conf.type_of(Family::interconnect) != "switch/elan") return;
  say("vendor libraries are mocks (" + choice.path + ")");
  ::setenv("BACKPLANE_MOCK_STATE", (state_dir + "/mock.state").c_str(), 0);
  if (::geteuid() != 0) ::setenv("BACKPLANE_MOCK_UID", "0", 0);
}

/// Writes all of it; says what went wrong.
bool write_file(const std::string& path, const std::string& text) {
  const hal::UniqueFd fd(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666));
  if (fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return true;
  }
  say(path + ": " + std::strerror(errno));
  return false;
}

bool print_trace(const RunOptions& options, const Trace& trace) {
  if (!options.trace) return true;
  const auto snapshot = trace.snapshot();
  if (options.trace->empty()) {
    (void)std::fputs(trace_as_text(snapshot).c_str(), stderr);
    return true;
  }
  const bool timeline = options.trace->ends_with(".json");
  return write_file(*options.trace,
                    timeline ? trace_as_timeline(snapshot) : trace_as_text(snapshot));
}

bool print_outcome(const RunOptions& options, const StepRequest& request, const PluginSet& plugins,
                   const StepOutcome& outcome) {
  const std::vector<std::string> types = plugins.types();
  if (options.verbose > 0) {
    (void)std::fputs(outcome_as_text(outcome, request, types).c_str(), stderr);
  }
  if (!options.json) return true;
  const auto text = outcome_as_json(outcome, request, types) + "\n";
  if (!options.json->empty()) return write_file(*options.json, text);
  (void)std::fputs(text.c_str(), stdout);  // main answers for standard output
  return true;
}

Result<Trace> make_trace(const RunOptions& options) {
  return options.trace ? Trace::create() : Result<Trace>(Trace());
}

/// The step itself. A failure: nothing was started.
Result<int> run_step(const RunOptions& options, const StepRequest& request) {
  auto plan = IoPlan::make(request);
  if (!plan) return hal::propagate(std::move(plan));
  auto conf = choose_conf(options);
  if (!conf) return hal::propagate(std::move(conf));
  auto state = StateDirectory::open(conf->state_save_location());
  if (!state) return hal::propagate(std::move(state));
  prepare_vendor_libraries(*conf, state->path());
  publish_switch_era(request.shape == StepShape::late ? 10 : 4);
  g_log_limit = static_cast<int>(hal::LogLevel::error) + options.verbose - (options.quiet ? 1 : 0);
  publish_log(log_line);
  auto trace = make_trace(options);
  if (!trace) return hal::propagate(std::move(trace));
  auto plugins = PluginSet::open(*conf, request.shape, *trace);
  if (!plugins) return hal::propagate(std::move(plugins));
  Controller controller(*plugins, *state, request, say);
  if (auto begun = controller.begin(); !begun) return hal::propagate(std::move(begun));
  StepLauncher launcher(request, *plugins, controller, say);
  auto outcome = launcher.run(std::move(*plan));
  controller.end();
  if (!outcome) return hal::propagate(std::move(outcome));
  const bool written = print_outcome(options, request, *plugins, *outcome);
  const bool traced = print_trace(options, *trace);
  plugins->abandon();
  const int code = outcome->exit_code();
  return code == 0 && !(written && traced) ? kExitProblem : code;
}

}  // namespace

int run_main(int argc, char** argv) {
  fill_standard_descriptors();
  auto options = parse_run_options(argc, argv);
  if (!options) return complain("run: " + options.error().detail, kExitUsage);
  if (options->help) {
    print_run_help();
    return kExitOk;
  }
  auto request = make_request(*options, environ);
  if (!request) return complain("run: " + request.error().detail, kExitUsage);
  auto code = run_step(*options, *request);
  if (!code) {
    const bool misuse = code.error().kind == hal::Errc::invalid_argument;
    return complain("run: " + code.error().detail, misuse ? kExitUsage : kExitProblem);
  }
  return *code;
}

}  // namespace backplane
