// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_outcome.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <sys/wait.h>

namespace hal::host {
namespace {

constexpr int kTimeLimitCode = 124;

std::string fixed(double value, int digits) {
  std::array<char, 64> text;
  const int size = std::snprintf(text.data(), text.size(), "%.*f", digits, value);
  return {text.data(), static_cast<std::size_t>(size)};
}

std::string exit_text(const TaskOutcome& task) {
  if (!task.ended) return "lost";
  if (WIFSIGNALED(task.wait_status)) return "signal " + std::to_string(WTERMSIG(task.wait_status));
  return std::to_string(WEXITSTATUS(task.wait_status));
}

std::string json_text(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') {
      quoted += '\\';
      quoted += character;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      std::array<char, 8> escape;
      (void)std::snprintf(escape.data(), escape.size(), "\\u%04x",
                          static_cast<unsigned>(character));
      quoted += escape.data();
    } else {
      quoted += character;
    }
  }
  return quoted + "\"";
}

std::string json_task(const TaskOutcome& task, std::size_t rank, const StepRequest& request) {
  std::string text = "{\"rank\":" + std::to_string(rank);
  text += ",\"node\":" + json_text(request.node_names[task.node_index]);
  text += ",\"pid\":" + std::to_string(task.pid);
  text += ",\"exit_code\":" + std::to_string(task.exit_code());
  const bool signalled = task.ended && WIFSIGNALED(task.wait_status);
  text += ",\"signal\":" + (signalled ? std::to_string(WTERMSIG(task.wait_status)) : "null");
  text += ",\"seconds\":" + fixed(task.seconds(), 6);
  text += ",\"user_seconds\":" + fixed(static_cast<double>(task.user_us) / 1e6, 6);
  text += ",\"system_seconds\":" + fixed(static_cast<double>(task.system_us) / 1e6, 6);
  text += ",\"max_rss_kib\":" + std::to_string(task.max_rss_kib) + "}";
  return text;
}

}  // namespace

int TaskOutcome::exit_code() const noexcept {
  if (!ended) return started ? 128 + 9 : 1;
  if (WIFSIGNALED(wait_status)) return 128 + WTERMSIG(wait_status);
  return WEXITSTATUS(wait_status);
}

double TaskOutcome::seconds() const noexcept {
  return end_ns > start_ns ? static_cast<double>(end_ns - start_ns) / 1e9 : 0;
}

int StepOutcome::exit_code() const noexcept {
  int code = failed || survivors > 0 ? 1 : 0;
  for (const auto& task : tasks) code = std::max(code, task.exit_code());
  return timed_out ? std::max(code, kTimeLimitCode) : code;
}

std::string outcome_as_text(const StepOutcome& outcome, const StepRequest& request,
                            const std::vector<std::string>& plugins) {
  std::size_t width = 4;
  for (const auto& name : request.node_names) width = std::max(width, name.size());
  std::string text = "job " + std::to_string(to_number(outcome.job)) + " step " +
                     std::to_string(to_number(outcome.step)) + "\n";
  const auto line = [&](const std::string& node, const std::string& rank, const std::string& pid,
                        const std::string& exit, const std::string& seconds,
                        const std::string& rss) {
    std::array<char, 512> row;
    const int size =
        std::snprintf(row.data(), row.size(), "%-*s %6s %8s %10s %10s %12s\n",
                      static_cast<int>(std::min<std::size_t>(width, 255)), node.c_str(),
                      rank.c_str(), pid.c_str(), exit.c_str(), seconds.c_str(), rss.c_str());
    text.append(row.data(), std::min(static_cast<std::size_t>(size), row.size() - 1));
  };
  line("NODE", "RANK", "PID", "EXIT", "SECONDS", "MAXRSS");
  for (std::size_t rank = 0; rank < outcome.tasks.size(); ++rank) {
    const auto& task = outcome.tasks[rank];
    line(request.node_names[task.node_index], std::to_string(rank),
         task.pid != 0 ? std::to_string(task.pid) : "-", exit_text(task), fixed(task.seconds(), 3),
         std::to_string(task.max_rss_kib) + "K");
  }
  text += "plugins:";
  for (const auto& plugin : plugins) text += " " + plugin;
  text += "\nescaped the tracker: " + std::to_string(outcome.escaped);
  text += "\nsurvivors: " + std::to_string(outcome.survivors) + "\n";
  return text;
}

std::string outcome_as_json(const StepOutcome& outcome, const StepRequest& request,
                            const std::vector<std::string>& plugins) {
  std::string text = "{\"job\":" + std::to_string(to_number(outcome.job));
  text += ",\"step\":" + std::to_string(to_number(outcome.step));
  text += ",\"shape\":" + json_text(to_string(request.shape));
  text += ",\"nodes\":" + json_text(request.layout.nodes().ranged());
  text += ",\"exit_code\":" + std::to_string(outcome.exit_code());
  text += ",\"seconds\":" + fixed(outcome.seconds, 6);
  text += std::string(",\"failed\":") + (outcome.failed ? "true" : "false");
  text += std::string(",\"timed_out\":") + (outcome.timed_out ? "true" : "false");
  text += ",\"escaped\":" + std::to_string(outcome.escaped);
  text += ",\"survivors\":" + std::to_string(outcome.survivors);
  text += ",\"plugins\":[";
  for (std::size_t index = 0; index < plugins.size(); ++index) {
    text += (index > 0 ? "," : "") + json_text(plugins[index]);
  }
  text += "],\"tasks\":[";
  for (std::size_t rank = 0; rank < outcome.tasks.size(); ++rank) {
    text += (rank > 0 ? "," : "") + json_task(outcome.tasks[rank], rank, request);
  }
  return text + "]}";
}

}  // namespace hal::host
