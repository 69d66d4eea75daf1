// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "hal/node_list.h"
#include "hal/step_layout.h"
#include "host/identity.h"
#include "tools/backplane/run_options.h"
#include "tools/backplane/verbs.h"

namespace backplane {
namespace {

using hal::Errc;
using hal::NodeList;
using hal::Result;
using hal::host::StepRequest;

constexpr std::uint32_t kMostNodes = 4096;
constexpr std::uint32_t kMostTasks = 65536;
constexpr long kLongestTime = 365L * 24 * 3600;

hal::Failure wrong(const std::string& text) {
  return hal::fail(Errc::invalid_argument, EINVAL, text);
}

Result<std::uint32_t> number(const char* option, const std::string& text, std::uint32_t highest,
                             std::uint32_t lowest = 1) {
  std::uint32_t value = 0;
  const auto* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || last != end || value < lowest || value > highest) {
    return wrong(std::string(option) + ": '" + text + "' is not a number from " +
                 std::to_string(lowest) + " to " + std::to_string(highest));
  }
  return value;
}

/// The first `count` names of the list.
NodeList shortened(const NodeList& nodes, std::uint32_t count) {
  if (nodes.size() <= count) return nodes;
  auto names = nodes.expand();
  names.resize(count);
  return NodeList::from_names(names);
}

Result<NodeList> named_nodes(const RunOptions& options) {
  auto nodes = NodeList::parse(*options.node_list);
  if (!nodes) return hal::with_context(std::move(nodes), "--nodelist");
  if (nodes->size() > kMostNodes) {
    return wrong("--nodelist: more than " + std::to_string(kMostNodes) + " nodes");
  }
  auto names = nodes->expand();
  std::ranges::sort(names);
  const auto twice = std::ranges::adjacent_find(names);
  if (twice != names.end()) return wrong("--nodelist: node " + *twice + " is named twice");
  for (const auto& name : names) {
    if (name.find('/') != std::string::npos) return wrong("--nodelist: bad name '" + name + "'");
  }
  return nodes;
}

Result<NodeList> choose_nodes(const RunOptions& options) {
  std::uint32_t count = 0;
  if (options.nodes) {
    auto given = number("--nodes", *options.nodes, kMostNodes);
    if (!given) return hal::propagate(std::move(given));
    count = *given;
  }
  if (!options.node_list) {
    const auto last = std::to_string(std::max(count, 1U) - 1);
    return NodeList::parse(last == "0" ? "n0" : "n[0-" + last + "]");
  }
  auto nodes = named_nodes(options);
  if (!nodes || count == 0) return nodes;
  if (nodes->size() < count) {
    return wrong("--nodes: " + std::to_string(count) + " nodes asked for, but --nodelist names " +
                 std::to_string(nodes->size()));
  }
  return shortened(*nodes, count);
}

Result<std::uint32_t> choose_tasks(const RunOptions& options, std::uint32_t nodes) {
  std::uint32_t per_node = 0;
  if (options.tasks_per_node) {
    auto given = number("--ntasks-per-node", *options.tasks_per_node, kMostTasks);
    if (!given) return given;
    per_node = *given;
  }
  if (!options.tasks) {
    const auto tasks = std::uint64_t{nodes} * std::max(per_node, 1U);
    if (tasks > kMostTasks) {
      return wrong("--ntasks-per-node: more than " + std::to_string(kMostTasks) + " tasks");
    }
    return static_cast<std::uint32_t>(tasks);
  }
  auto tasks = number("--ntasks", *options.tasks, kMostTasks);
  if (tasks && per_node != 0 && *tasks > std::uint64_t{nodes} * per_node) {
    return wrong("--ntasks: " + *options.tasks + " tasks do not fit on " + std::to_string(nodes) +
                 " nodes with --ntasks-per-node=" + *options.tasks_per_node);
  }
  return tasks;
}

Result<> choose_layout(const RunOptions& options, StepRequest& request) {
  auto nodes = choose_nodes(options);
  if (!nodes) return hal::propagate(std::move(nodes));
  auto tasks = choose_tasks(options, static_cast<std::uint32_t>(nodes->size()));
  if (!tasks) return hal::propagate(std::move(tasks));
  if (*tasks < nodes->size()) {
    if (!options.quiet) {
      complain("cannot run " + std::to_string(*tasks) + " tasks on " +
               std::to_string(nodes->size()) + " nodes, using " + std::to_string(*tasks));
    }
    nodes = shortened(*nodes, *tasks);
  }
  hal::TaskDistribution order{};
  if (options.distribution == "block") {
    order = hal::TaskDistribution::block;
  } else if (options.distribution == "cyclic") {
    order = hal::TaskDistribution::cyclic;
  } else {
    return wrong("--distribution: '" + options.distribution + "' is neither block nor cyclic");
  }
  request.node_names = nodes->expand();
  auto layout = hal::StepLayout::from_counts(std::move(*nodes), *tasks, order);
  if (!layout) return hal::propagate(std::move(layout));
  request.layout = std::move(*layout);
  return {};
}

bool names(const std::string& entry, std::string_view variable) {
  return entry.size() > variable.size() && entry[variable.size()] == '=' &&
         entry.starts_with(variable);
}

/// --export: ALL, NONE, or a list of names to pass on and of values to set.
std::vector<std::string> exported(const std::string& list, char** environment) {
  std::vector<std::string> all;
  for (char** entry = environment; *entry != nullptr; ++entry) all.emplace_back(*entry);
  if (list == "ALL") return all;
  std::vector<std::string> passed;
  const auto set = [&](const std::string& entry) {
    const auto name = entry.substr(0, entry.find('='));
    std::erase_if(passed, [&](const std::string& old) { return names(old, name); });
    passed.push_back(entry);
  };
  for (std::size_t at = 0; at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    const auto item = list.substr(at, comma - at);
    at = comma + 1;
    if (item == "ALL") {
      for (const auto& entry : all) set(entry);
    } else if (item.find('=') != std::string::npos && item.front() != '=') {
      set(item);
    } else if (!item.empty() && item != "NONE") {
      for (const auto& entry : all) {
        if (names(entry, item)) set(entry);
      }
    }
  }
  return passed;
}

Result<std::string> choose_directory(const RunOptions& options) {
  std::array<char, 4096> here{};
  if (options.directory && options.directory->starts_with('/')) return *options.directory;
  if (::getcwd(here.data(), here.size()) == nullptr) {
    return hal::fail_errno(errno, "working directory; name one with --chdir");
  }
  std::string directory = here.data();
  if (options.directory) directory += "/" + *options.directory;
  return directory;
}

Result<> choose_times(const RunOptions& options, StepRequest& request) {
  auto wait = number("--kill-wait", options.kill_wait, 86400, 0);
  if (!wait) return hal::propagate(std::move(wait));
  request.kill_wait = std::chrono::seconds(*wait);
  if (!options.time) return {};
  auto limit = parse_time(*options.time);
  if (!limit) return hal::propagate(std::move(limit));
  if (*limit > 0) request.time_limit = std::chrono::seconds(*limit);
  return {};
}

}  // namespace

Result<long> parse_time(const std::string& text) {
  std::string_view rest = text;
  long days = 0;
  std::array<long, 3> parts{};
  std::size_t count = 0;
  const auto bad = [&] {
    return wrong("--time: '" + text + "' is none of minutes, mm:ss, hh:mm:ss, d-hh:mm:ss");
  };
  const auto take = [&](long& value) {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc{} || value < 0 || value > kLongestTime) return false;
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    return true;
  };
  const auto dash = text.find('-');
  if (dash != std::string::npos) {
    if (!take(days) || rest.empty() || rest.front() != '-') return bad();
    rest.remove_prefix(1);
  }
  while (true) {
    if (count == parts.size() || !take(parts[count++])) return bad();
    if (rest.empty()) break;
    if (rest.front() != ':') return bad();
    rest.remove_prefix(1);
  }
  long seconds = 0;
  if (dash != std::string::npos || count == 3) {
    seconds = parts[0] * 3600 + parts[1] * 60 + parts[2];
  } else {
    seconds = parts[0] * 60 + parts[1];
  }
  seconds += days * 86400;
  if (seconds > kLongestTime) return wrong("--time: more than a year");
  return seconds;
}

Result<StepRequest> make_request(const RunOptions& options, char** environment) {
  StepRequest request;
  if (options.command.empty()) {
    return wrong("no program to run; see \"backplane run --help\"");
  }
  if (auto laid_out = choose_layout(options, request); !laid_out) {
    return hal::propagate(std::move(laid_out));
  }
  if (options.shape != "v0" && options.shape != "late") {
    return wrong("--shape: '" + options.shape + "' is neither v0 nor late");
  }
  request.shape = options.shape == "late" ? hal::host::StepShape::late : hal::host::StepShape::v0;
  auto owner = hal::host::find_identity(options.user, options.group);
  if (!owner) return hal::propagate(std::move(owner));
  request.owner = std::move(*owner);
  auto directory = choose_directory(options);
  if (!directory) return hal::propagate(std::move(directory));
  request.working_directory = std::move(*directory);
  if (auto timed = choose_times(options, request); !timed) {
    return hal::propagate(std::move(timed));
  }
  request.environment = exported(options.export_list, environment);
  request.command = options.command;
  request.input = options.input;
  request.output = options.output;
  request.error = options.error;
  request.label = options.label;
  request.kill_on_bad_exit = options.kill_on_bad_exit;
  request.overcommit = options.overcommit;
  request.quiet = options.quiet;
  request.verbose = options.verbose;
  return request;
}

}  // namespace backplane
