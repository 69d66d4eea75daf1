// SPDX-License-Identifier: BSD-3-Clause
#include "tests/mocks/elan/mock_control.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <unistd.h>

#include "tests/mocks/elan/membership.h"

namespace backplane_mock {
namespace {

Mapping& mapping_of(const std::string& path) { return *Mapping::at(path, elan_layout()); }

ElanState& state_of(const std::string& path) {
  return *reinterpret_cast<ElanState*>(mapping_of(path).core());
}

bool add(const std::string& path, const std::string& function, std::uint64_t nth, Action action,
         std::int64_t value) {
  ElanState& state = state_of(path);
  const StateGuard guard(state.core);
  return add_rule(state.core, function.c_str(), nth, action, value);
}

template <class Cap>
std::optional<Attachment> attach(const std::string& path, int node, const Cap& cap, int rail) {
  ElanState& state = state_of(path);
  int fd = -1;
  const StateGuard guard(state.core);
  const int error =
      attach_context(state, mapping_of(path), node, geometry_of(cap), rail, cap.cap_mycontext, fd);
  const Arguments arguments("ctx=%x rail=%d", static_cast<unsigned>(cap.cap_mycontext), rail);
  record_call(state.core, "attach", arguments, node, error == 0 ? 0 : -1, error);
  if (error == 0) return Attachment(fd);
  errno = error;
  return std::nullopt;
}

class Report {
 public:
  template <class... Values>
  void add(const char* format, Values... values) {
    char line[200];
    (void)std::snprintf(line, sizeof line, format, values...);
    lines_.emplace_back(line);
  }
  [[nodiscard]] std::vector<std::string> take() { return std::move(lines_); }

 private:
  std::vector<std::string> lines_;
};

void report_devices(const ElanState& state, Report& report) {
  for (const Handle& h : state.handles) {
    if (h.used != 0) report.add("control handle on node %d, opened by pid %d", h.node, h.pid);
  }
  for (const Capability& c : state.capabilities) {
    if (c.used == 0) continue;
    const Geometry& g = c.geometry;
    report.add("capability on node %d: contexts 0x%x-0x%x, nodes %d-%d%s", c.node,
               static_cast<unsigned>(g.low_context), static_cast<unsigned>(g.high_context),
               g.low_node, g.high_node, c.closing != 0 ? ", closing" : "");
  }
  for (const auto& a : state.attachments) {
    if (a.used == 0) continue;
    report.add("attachment on node %d: context 0x%x of rail %u by pid %d", a.node,
               static_cast<unsigned>(a.context), a.rail, a.pid);
  }
}

void report_segment(std::int32_t program, pid_t creator, Report& report) {
  for (const int id : segments_of(segment_key(program), creator)) {
    report.add("statistics segment %d of program %d, made by pid %d", id, program, creator);
  }
}

}  // namespace

Attachment::~Attachment() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<ElanMock> ElanMock::open(const std::string& path) {
  if (Mapping::at(path, elan_layout()) == nullptr) return std::nullopt;
  return ElanMock(path);
}

void ElanMock::reset() {
  ElanState& state = state_of(path_);
  const StateGuard guard(state.core);
  reset_state(state);
}

bool ElanMock::inject(const std::string& function, std::uint64_t nth, int error) {
  return add(path_, function, nth, Action::fail, error);
}

bool ElanMock::delay(const std::string& function, std::uint64_t nth, std::int64_t milliseconds) {
  return add(path_, function, nth, Action::delay, milliseconds);
}

bool ElanMock::kill_before(const std::string& function, std::uint64_t nth) {
  return add(path_, function, nth, Action::kill_before, 0);
}

bool ElanMock::kill_after(const std::string& function, std::uint64_t nth) {
  return add(path_, function, nth, Action::kill_after, 0);
}

bool ElanMock::set_option(std::string_view name, std::int64_t value) {
  ElanState& state = state_of(path_);
  for (std::uint32_t i = 0; i < kOptionCount; ++i) {
    if (name != option_info(i).name) continue;
    const StateGuard guard(state.core);
    state.options[i] = value;
    return true;
  }
  return false;
}

std::vector<std::pair<std::string, std::int64_t>> ElanMock::options() const {
  const ElanState& state = state_of(path_);
  std::vector<std::pair<std::string, std::int64_t>> all;
  for (std::uint32_t i = 0; i < kOptionCount; ++i) {
    all.emplace_back(option_info(i).name, state.options[i]);
  }
  return all;
}

bool ElanMock::set_node(std::string_view name, int elan_id) {
  ElanState& state = state_of(path_);
  const StateGuard guard(state.core);
  for (NodeName& entry : state.names) {
    const bool same =
        name == std::string_view(entry.name, ::strnlen(entry.name, sizeof entry.name));
    if (entry.name[0] != '\0' && !same) continue;
    if (name.empty() || name.size() >= sizeof entry.name || elan_id < 0) return false;
    std::memcpy(entry.name, name.data(), name.size());
    entry.name[name.size()] = '\0';
    entry.id = elan_id;
    return true;
  }
  return false;
}

std::vector<std::pair<std::string, int>> ElanMock::nodes() const {
  ElanState& state = state_of(path_);
  const StateGuard guard(state.core);
  std::vector<std::pair<std::string, int>> all;
  for (const NodeName& entry : state.names) {
    if (entry.name[0] == '\0') continue;
    all.emplace_back(std::string(entry.name, ::strnlen(entry.name, sizeof entry.name)), entry.id);
  }
  return all;
}

std::vector<TracedCall> ElanMock::trace() const {
  ElanState& state = state_of(path_);
  std::vector<TracedCall> calls;
  {
    const StateGuard guard(state.core);
    for (const TraceEntry& e : state.core.trace) {
      if (e.sequence == 0) continue;
      calls.push_back({e.sequence, e.nanoseconds, e.pid, e.uid, e.node,
                       std::string(e.function, ::strnlen(e.function, sizeof e.function)),
                       std::string(e.arguments, ::strnlen(e.arguments, sizeof e.arguments)),
                       e.result, e.error});
    }
  }
  std::sort(calls.begin(), calls.end(),
            [](const TracedCall& a, const TracedCall& b) { return a.sequence < b.sequence; });
  return calls;
}

std::vector<std::string> ElanMock::leaks() {
  ElanState& state = state_of(path_);
  Report report;
  const StateGuard guard(state.core);
  sweep_node(state, mapping_of(path_), -1);
  for (std::uint32_t slot = 0; slot < kMaxPrograms; ++slot) {
    const Program& p = state.programs[slot];
    if (p.used == 0) continue;
    report.add("program %d on node %d of uid %u, %zu members", p.id, p.node, p.uid,
               members_of(state, slot).size());
    reap_segment(state, p.id, p.root_pid);
    report_segment(p.id, p.root_pid, report);
  }
  for (const Buried& b : state.buried) {
    if (b.root_pid != 0) report_segment(b.id, b.root_pid, report);
  }
  report_devices(state, report);
  return report.take();
}

std::optional<Attachment> ElanMock::attach_check(int node, const ELAN_CAPABILITY& cap, int rail) {
  return attach(path_, node, cap, rail);
}

std::optional<Attachment> ElanMock::attach_check(int node, const ELAN3_CAPABILITY& cap, int rail) {
  return attach(path_, node, cap, rail);
}

std::uint32_t ElanMock::lock_owner_deaths() const { return state_of(path_).core.lock_owner_deaths; }

std::string to_string(const TracedCall& call) {
  char head[128];
  (void)std::snprintf(head, sizeof head, "%llu %llu.%06llu pid %d uid %u node %d ",
                      static_cast<unsigned long long>(call.sequence),
                      static_cast<unsigned long long>(call.nanoseconds / 1000000000U),
                      static_cast<unsigned long long>(call.nanoseconds / 1000U % 1000000U),
                      call.pid, call.uid, call.node);
  std::string text = head + call.function + "(" + call.arguments + ") = ";
  text += std::to_string(call.result);
  if (call.error != 0) text += std::string(" (") + ::strerrorname_np(call.error) + ")";
  return text;
}

}  // namespace backplane_mock
