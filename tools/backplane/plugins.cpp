// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <map>
#include <vector>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "host/plugin.h"
#include "host/plugin_check.h"
#include "host/site_conf.h"
#include "tools/backplane/arguments.h"
#include "tools/backplane/plugins_load.h"
#include "tools/backplane/verbs.h"

namespace backplane {
namespace {

using hal::host::Finding;
using hal::host::PluginReport;

/// One line of the list.
struct Entry {
  PluginReport report;
  std::string shadowed_by;  ///< an earlier file of the same type
  bool configured = false;  ///< the site file names this type

  [[nodiscard]] bool usable() const { return shadowed_by.empty() && report.usable(); }
};

std::string minor_text(const PluginReport& report) { return report.type ? *report.type : "?"; }

/// Why an entry cannot be used, in one line; empty if it can.
std::string reason(const Entry& entry) {
  if (!entry.shadowed_by.empty()) return "hidden by " + entry.shadowed_by;
  for (const Finding& finding : entry.report.findings) {
    if (finding.problem) return finding.what;
  }
  return {};
}

std::vector<Entry> collect(const hal::host::PluginPath& path, const hal::host::SiteConf& conf,
                           bool load) {
  std::vector<Entry> entries;
  hal::host::SystemLibraries libraries;
  std::map<std::string, std::string> first_of_type;
  for (const std::string& directory : path.directories()) {
    for (const hal::host::FamilyTable& family : hal::host::families()) {
      for (const std::string& minor : hal::host::PluginPath(directory).minors(family.major)) {
        const std::string file = directory + "/" + std::string(family.major) + "_" + minor + ".so";
        auto report = hal::host::inspect_plugin(file, libraries);
        if (!report) continue;  // gone since the directory was read
        Entry entry{.report = std::move(*report), .shadowed_by = {}, .configured = false};
        // Looked up by file name; a file of another type is passed over.
        if (entry.report.type == std::string(family.major) + "/" + minor) {
          const auto [at, fresh] = first_of_type.try_emplace(*entry.report.type, file);
          if (!fresh) entry.shadowed_by = at->second;
          entry.configured = fresh && conf.type_of(family.family) == *entry.report.type;
        }
        if (load && entry.usable()) load_in_child(entry.report);
        entries.push_back(std::move(entry));
      }
    }
  }
  return entries;
}

void print_table(const std::vector<Entry>& entries) {
  std::size_t type_width = 4;
  std::size_t name_width = 4;
  for (const Entry& entry : entries) {
    type_width = std::max(type_width, minor_text(entry.report).size());
    name_width = std::max(name_width, entry.report.name.value_or("-").size());
  }
  std::printf("  %-*s  %-8s  %-11s  %-*s  %s\n", static_cast<int>(type_width), "TYPE", "VERSION",
              "FACE", static_cast<int>(name_width), "NAME", "USABLE");
  for (const Entry& entry : entries) {
    const PluginReport& report = entry.report;
    const std::string version =
        report.version ? hal::host::version_text(*report.version) : std::string("-");
    const std::string why = reason(entry);
    std::printf("%c %-*s  %-8s  %-11s  %-*s  %s\n", entry.configured ? '*' : ' ',
                static_cast<int>(type_width), minor_text(report).c_str(), version.c_str(),
                report.face.empty() ? "-" : report.face.c_str(), static_cast<int>(name_width),
                report.name.value_or("-").c_str(), entry.usable() ? "yes" : ("no: " + why).c_str());
  }
}

template <class T>
nlohmann::ordered_json or_null(const std::optional<T>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
}

nlohmann::ordered_json to_json(const PluginReport& report) {
  nlohmann::ordered_json out;
  out["file"] = report.file;
  out["type"] = or_null(report.type);
  out["name"] = or_null(report.name);
  out["version"] = or_null(report.version);
  out["face"] =
      report.face.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(report.face);
  out["usable"] = report.usable();
  out["findings"] = nlohmann::ordered_json::array();
  for (const Finding& finding : report.findings) {
    out["findings"].push_back({{"severity", finding.problem ? "problem" : "note"},
                               {"what", finding.what},
                               {"cure", finding.cure}});
  }
  return out;
}

void print_json(const nlohmann::ordered_json& value) {
  const std::string text =
      value.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::puts(text.c_str());
}

int list(const std::string& conf_file, const std::string& plugin_dir, bool json, bool load) {
  auto conf = hal::host::SiteConf::load_for_command(conf_file);
  if (!conf) return complain(conf.error().detail);
  if (!plugin_dir.empty()) conf->set_plugin_dir(plugin_dir);
  const hal::host::PluginPath path(conf->plugin_dir());
  const std::vector<Entry> entries = collect(path, *conf, load);
  if (json) {
    nlohmann::ordered_json out;
    out["plugin_dir"] = path.directories();
    out["plugins"] = nlohmann::ordered_json::array();
    for (const Entry& entry : entries) {
      auto each = to_json(entry.report);
      each["usable"] = entry.usable();
      each["configured"] = entry.configured;
      if (!entry.shadowed_by.empty()) each["hidden_by"] = entry.shadowed_by;
      out["plugins"].push_back(std::move(each));
    }
    print_json(out);
  } else if (!entries.empty()) {
    std::printf("plugins in %s (* is configured)\n", path.text().c_str());
    print_table(entries);
  }
  if (!entries.empty()) return kExitOk;
  return complain("no plugin in " + path.text() + "; set PluginDir or give --plugin-dir");
}

int check(const std::vector<std::string>& files, bool json) {
  int code = kExitOk;
  hal::host::SystemLibraries libraries;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const std::string& file : files) {
    auto report = hal::host::inspect_plugin(file, libraries);
    if (!report) {
      code = complain(report.error().detail + "; give the path of a plugin file");
      continue;
    }
    if (!report->usable()) code = kExitProblem;
    if (json) {
      out.push_back(to_json(*report));
      continue;
    }
    std::printf("%s: %s%s\n", file.c_str(), report->type.value_or("no plugin").c_str(),
                report->usable() ? ", no problem found" : "");
    for (const Finding& finding : report->findings) {
      std::printf("  %s: %s\n    cure: %s\n", finding.problem ? "problem" : "note",
                  finding.what.c_str(), finding.cure.c_str());
    }
  }
  if (json) print_json(out);
  return code;
}

}  // namespace

int plugins_main(int argc, char** argv) {
  CLI::App app(
      "Lists every plugin in PluginDir: type, version, face, and whether it can be used "
      "here or why not. Files are read, not loaded.",
      "backplane plugins");
  std::string conf_file;
  std::string plugin_dir;
  bool json = false;
  bool load = false;
  app.add_option("--conf", conf_file, "slurm.conf-style file with PluginDir and the types in use");
  app.add_option("--plugin-dir", plugin_dir, "directories to search instead, separated by ':'");
  app.add_flag("--json", json, "print JSON");
  app.add_flag("--load", load, "also open each usable plugin in a child process, init() included");

  std::vector<std::string> files;
  CLI::App* const check_verb = app.add_subcommand(
      "check",
      "Compares plugin files with the API of their type; nothing of them is run. Exit "
      "code 0: no problem, 1: problems, each with its cure.");
  check_verb->add_option("FILE", files, "plugin files (.so)")->required();
  check_verb->add_flag("--json", json, "print JSON");

  if (const auto code = parse_arguments(app, argc, argv)) return *code;
  return check_verb->parsed() ? check(files, json) : list(conf_file, plugin_dir, json, load);
}

}  // namespace backplane
