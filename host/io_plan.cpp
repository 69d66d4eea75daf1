// SPDX-License-Identifier: BSD-3-Clause
#include "host/io_plan.h"

#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <utility>

namespace hal::host {
namespace {

constexpr std::string_view kConversions = "jJsnNtu";
constexpr unsigned kMaxWidth = 10;

/// One %[width]letter; the position is behind the percent sign and moves behind the letter.
struct Conversion {
  unsigned width = 0;
  char letter = '\0';
};

Conversion take_conversion(std::string_view pattern, std::size_t& position) {
  Conversion conversion;
  while (position < pattern.size() && pattern[position] >= '0' && pattern[position] <= '9') {
    if (conversion.width <= kMaxWidth) {
      conversion.width = conversion.width * 10 + static_cast<unsigned>(pattern[position] - '0');
    }
    ++position;
  }
  if (position < pattern.size()) conversion.letter = pattern[position++];
  if (conversion.width > kMaxWidth) conversion.width = kMaxWidth;
  return conversion;
}

std::string padded(std::uint32_t number, unsigned width) {
  auto text = std::to_string(number);
  if (text.size() < width) text.insert(0, width - text.size(), '0');
  return text;
}

Result<> check_pattern(std::string_view option, StreamPlan& plan) {
  for (std::size_t position = 0; position < plan.pattern.size();) {
    if (plan.pattern[position++] != '%') continue;
    const auto conversion = take_conversion(plan.pattern, position);
    if (conversion.letter == '%') continue;
    if (kConversions.find(conversion.letter) == std::string_view::npos) {
      return fail(Errc::invalid_argument, EINVAL,
                  std::string(option) + ": unknown conversion in '" + plan.pattern +
                      "'; known are %j %J %s %n %N %t %u %%");
    }
    plan.per_task |= conversion.letter == 't';
    plan.per_node |= conversion.letter == 'n' || conversion.letter == 'N';
  }
  return {};
}

}  // namespace

Result<StreamPlan> parse_stream(std::string_view option, std::string_view text,
                                std::uint32_t task_count, std::string_view directory) {
  StreamPlan plan;
  if (text.empty() || text == "all") return plan;
  if (text == "none") {
    plan.kind = StreamPlan::Kind::none;
    return plan;
  }
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), plan.rank);
  if (error == std::errc{} && end == text.data() + text.size()) {
    if (plan.rank >= task_count) {
      return fail(Errc::invalid_argument, EINVAL,
                  std::string(option) + ": there is no task " + std::string(text) +
                      "; the last one is " + std::to_string(task_count - 1));
    }
    plan.kind = StreamPlan::Kind::one_task;
    return plan;
  }
  plan.kind = StreamPlan::Kind::file;
  plan.pattern =
      text.front() == '/' ? std::string(text) : std::string(directory) + "/" + std::string(text);
  if (auto checked = check_pattern(option, plan); !checked) return propagate(std::move(checked));
  return plan;
}

std::string expand_pattern(std::string_view pattern, const PatternFacts& facts) {
  std::string path;
  for (std::size_t position = 0; position < pattern.size();) {
    const char character = pattern[position++];
    if (character != '%') {
      path += character;
      continue;
    }
    const auto conversion = take_conversion(pattern, position);
    switch (conversion.letter) {
      case 'j':
        path += padded(to_number(facts.job), conversion.width);
        break;
      case 'J':
        path += padded(to_number(facts.job), conversion.width) + "." +
                std::to_string(to_number(facts.step));
        break;
      case 's':
        path += padded(to_number(facts.step), conversion.width);
        break;
      case 'n':
        path += padded(facts.node_index, conversion.width);
        break;
      case 't':
        path += padded(facts.rank, conversion.width);
        break;
      case 'N':
        path += facts.node_name;
        break;
      case 'u':
        path += facts.user;
        break;
      default:
        path += conversion.letter;
    }
  }
  return path;
}

Result<IoPlan> IoPlan::make(const StepRequest& request) {
  constexpr std::array<std::string_view, 3> kOptions{"--input", "--output", "--error"};
  const std::array<const std::string*, 3> texts{&request.input, &request.output, &request.error};
  IoPlan plan;
  for (std::size_t stream = 0; stream < 3; ++stream) {
    auto parsed = parse_stream(kOptions[stream], *texts[stream], request.layout.task_count(),
                               request.working_directory);
    if (!parsed) return propagate(std::move(parsed));
    plan.streams[stream] = std::move(*parsed);
  }
  const auto& output = plan.streams[1];
  if (request.error.empty() && output.kind != StreamPlan::Kind::all) {
    plan.streams[2] = output;
  }
  plan.error_joins_output = output.kind == StreamPlan::Kind::file &&
                            plan.streams[2].kind == StreamPlan::Kind::file &&
                            plan.streams[2].pattern == output.pattern;
  return plan;
}

Result<UniqueFd> open_stream_file(int stream, const std::string& path) {
  const int flags = stream == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  UniqueFd fd(::open(path.c_str(), flags | O_CLOEXEC | O_NOCTTY, 0666));
  if (!fd) {
    constexpr std::array<const char*, 3> kNames{"input", "output", "error"};
    return fail_errno(
        errno, std::string(kNames[static_cast<std::size_t>(stream)]) + " file '" + path + "'");
  }
  return fd;
}

Result<> open_node_files(const StepRequest& request, const IoPlan& plan, JobId job, StepId step,
                         std::uint32_t node_index, NodeStdio& stdio) {
  const auto acting = ActAs::begin(request.owner);
  if (!acting) return expected_ns::unexpected<Error>(acting.error());
  PatternFacts facts{.job = job,
                     .step = step,
                     .node_index = node_index,
                     .node_name = request.node_names[node_index],
                     .user = request.owner.user};
  std::array<int, 3> of_node{kOpenOnNode, kOpenOnNode, kOpenOnNode};
  for (std::uint32_t local = 0; local < stdio.tasks.size(); ++local) {
    facts.rank = request.layout.rank_of(node_index, local);
    auto& fds = stdio.tasks[local];
    for (std::size_t stream = 0; stream < 3; ++stream) {
      if (fds[stream] != kOpenOnNode) continue;
      const auto& pattern = plan.streams[stream];
      if (stream == 2 && plan.error_joins_output) {
        fds[2] = fds[1];
        continue;
      }
      const bool shared = !pattern.per_task && stream != 0;
      if (!shared || of_node[stream] == kOpenOnNode) {
        auto fd =
            open_stream_file(static_cast<int>(stream), expand_pattern(pattern.pattern, facts));
        if (!fd) return propagate(std::move(fd));
        of_node[stream] = fd->get();
        stdio.owned.push_back(std::move(*fd));
      }
      fds[stream] = of_node[stream];
    }
  }
  return {};
}

}  // namespace hal::host
