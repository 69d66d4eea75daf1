// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "host/trace.h"

namespace hal::host {
namespace {

std::string_view text_of(const TraceRecord& record) {
  return {record.call.data(), ::strnlen(record.call.data(), record.call.size())};
}

std::string_view node_of(const TraceRecord& record) {
  return {record.node.data(), ::strnlen(record.node.data(), record.node.size())};
}

/// "task 3 on n1 (pid 4711)" without the pid.
std::string who(const TraceRecord& record) {
  std::string text(to_string(record.role));
  if (record.task >= 0) text += " " + std::to_string(record.task);
  if (!node_of(record).empty()) text += " on " + std::string(node_of(record));
  return text;
}

std::string microseconds(std::uint64_t ns) {
  std::array<char, 32> text{};
  (void)std::snprintf(text.data(), text.size(), "%llu.%03llu",
                      static_cast<unsigned long long>(ns / 1000),
                      static_cast<unsigned long long>(ns % 1000));
  return text.data();
}

std::string result_text(const TraceRecord& record) {
  switch (record.kind) {
    case TraceResult::running:
      return "did not return";
    case TraceResult::nothing:
      return "-";
    case TraceResult::boolean:
      return record.value != 0 ? "true" : "false";
    case TraceResult::pointer:
      return record.value != 0 ? "pointer" : "NULL";
    case TraceResult::number:
      break;
  }
  return std::to_string(record.value);
}

std::string error_text(int error_number) {
  const char* const name = ::strerrorname_np(error_number);
  const char* const text = ::strerrordesc_np(error_number);
  if (name == nullptr || text == nullptr) return std::to_string(error_number);
  return std::string(name) + " (" + text + ")";
}

/// `text` as a JSON string. Bytes that are not ASCII become U+FFFD: names are ASCII, anything else
/// is not known to be UTF-8.
std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte >= 0x80 || byte == 0x7f) {
      out += "\\ufffd";
    } else if (byte < 0x20) {
      std::array<char, 8> escape{};
      (void)std::snprintf(escape.data(), escape.size(), "\\u%04x", byte);
      out += escape.data();
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string result_json(const TraceRecord& record) {
  switch (record.kind) {
    case TraceResult::boolean:
      return record.value != 0 ? "true" : "false";
    case TraceResult::number:
      return std::to_string(record.value);
    case TraceResult::pointer:
      return record.value != 0 ? "\"pointer\"" : "null";
    case TraceResult::running:
    case TraceResult::nothing:
      break;
  }
  return "null";
}

std::uint64_t origin_of(const TraceSnapshot& snapshot) {
  return snapshot.records.empty() ? 0 : snapshot.records.front().start_ns;
}

/// Records by process, the processes in the order of their first call.
std::vector<std::vector<const TraceRecord*>> by_process(const TraceSnapshot& snapshot) {
  std::vector<std::vector<const TraceRecord*>> groups;
  std::map<pid_t, std::size_t> group_of;
  for (const TraceRecord& record : snapshot.records) {
    const auto [at, fresh] = group_of.try_emplace(record.pid, groups.size());
    if (fresh) groups.emplace_back();
    groups[at->second].push_back(&record);
  }
  return groups;
}

void append_row(std::string& out, const TraceRecord& record, std::uint64_t origin,
                std::size_t name_width) {
  std::array<char, 160> row{};
  (void)std::snprintf(
      row.data(), row.size(), "  %12s  %10s  %-*s  ",
      microseconds(record.start_ns - origin).c_str(),
      record.kind == TraceResult::running ? "-" : microseconds(record.duration_ns).c_str(),
      static_cast<int>(name_width), std::string(text_of(record)).c_str());
  out += row.data();
  out += result_text(record);
  if (record.error_number != 0) out += "  " + error_text(record.error_number);
  out += '\n';
}

void append_event(std::string& out, const TraceRecord& record, std::uint64_t origin, int lane) {
  out += ",\n  {\"ph\": \"X\", \"name\": " + quoted(text_of(record)) + ", \"cat\": \"plugin\"" +
         ", \"pid\": " + std::to_string(lane) + ", \"tid\": " + std::to_string(record.pid) +
         ", \"ts\": " + microseconds(record.start_ns - origin) +
         ", \"dur\": " + microseconds(record.duration_ns) +
         ", \"args\": {\"result\": " + quoted(result_text(record)) +
         ", \"uid\": " + std::to_string(record.uid);
  if (record.error_number != 0) out += ", \"errno\": " + quoted(error_text(record.error_number));
  out += "}}";
}

std::string name_event(std::string_view what, int lane, pid_t pid, std::string_view name) {
  return "{\"ph\": \"M\", \"name\": " + quoted(what) + ", \"pid\": " + std::to_string(lane) +
         ", \"tid\": " + std::to_string(pid) + ", \"args\": {\"name\": " + quoted(name) + "}}";
}

}  // namespace

std::string trace_as_text(const TraceSnapshot& snapshot) {
  std::size_t name_width = 4;
  for (const TraceRecord& record : snapshot.records) {
    name_width = std::max(name_width, text_of(record).size());
  }
  std::string out;
  for (const auto& group : by_process(snapshot)) {
    const TraceRecord& first = *group.front();
    if (!out.empty()) out += '\n';
    out += who(first) + ", pid " + std::to_string(first.pid) + "\n";
    std::array<char, 160> head{};
    (void)std::snprintf(head.data(), head.size(), "  %12s  %10s  %-*s  %s\n", "start us", "took us",
                        static_cast<int>(name_width), "call", "result");
    out += head.data();
    uid_t uid = first.uid;
    out += "  as user " + std::to_string(uid) + "\n";
    for (const TraceRecord* record : group) {
      if (record->uid != uid) {
        uid = record->uid;
        out += "  as user " + std::to_string(uid) + "\n";
      }
      append_row(out, *record, origin_of(snapshot), name_width);
    }
  }
  if (snapshot.dropped != 0) {
    out += std::to_string(snapshot.dropped) + " later calls were not kept\n";
  }
  return out;
}

std::string trace_as_json(const TraceSnapshot& snapshot) {
  std::string out = "{\"dropped\": " + std::to_string(snapshot.dropped) + ", \"calls\": [";
  const char* separator = "\n  ";
  for (const TraceRecord& record : snapshot.records) {
    out += separator;
    separator = ",\n  ";
    out += "{\"call\": " + quoted(text_of(record)) +
           ", \"process\": " + quoted(to_string(record.role)) +
           ", \"node\": " + quoted(node_of(record)) +
           ", \"task\": " + (record.task >= 0 ? std::to_string(record.task) : "null") +
           ", \"pid\": " + std::to_string(record.pid) + ", \"uid\": " + std::to_string(record.uid) +
           ", \"start_ns\": " + std::to_string(record.start_ns) +
           ", \"duration_ns\": " + std::to_string(record.duration_ns) +
           ", \"returned\": " + (record.kind == TraceResult::running ? "false" : "true") +
           ", \"result\": " + result_json(record) +
           ", \"errno\": " + std::to_string(record.error_number) + "}";
  }
  return out + "\n]}\n";
}

std::string trace_as_timeline(const TraceSnapshot& snapshot) {
  // A lane ("process" of the viewer) is one node or the controller side; its rows ("threads") are
  // the real processes.
  std::string out = "{\"displayTimeUnit\": \"ns\", \"traceEvents\": [\n  ";
  out +=
      "{\"ph\": \"M\", \"name\": \"dropped_calls\", \"pid\": 0, \"tid\": 0, \"args\": "
      "{\"count\": " +
      std::to_string(snapshot.dropped) + "}}";
  std::map<std::string, int, std::less<>> lanes;
  for (const auto& group : by_process(snapshot)) {
    const TraceRecord& first = *group.front();
    const std::string lane_name =
        node_of(first).empty() ? "controller side" : "node " + std::string(node_of(first));
    const auto [lane, fresh] = lanes.try_emplace(lane_name, static_cast<int>(lanes.size()) + 1);
    if (fresh) out += ",\n  " + name_event("process_name", lane->second, first.pid, lane_name);
    out += ",\n  " + name_event("thread_name", lane->second, first.pid, who(first));
    for (const TraceRecord* record : group) {
      append_event(out, *record, origin_of(snapshot), lane->second);
    }
  }
  return out + "\n]}\n";
}

}  // namespace hal::host
