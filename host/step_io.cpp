// SPDX-License-Identifier: BSD-3-Clause
#include "host/step_io.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utility>

namespace hal::host {
namespace {

constexpr std::array<int, 3> kOwnStreams{0, 1, 2};

Result<std::pair<UniqueFd, UniqueFd>> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "pipe for a task's stream");
  return std::pair{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

void set_nonblocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }

}  // namespace

/// One labelled output stream of one task: lines are collected and passed on whole.
struct StepIo::Stream final : Pollable {
  Poller* poller = nullptr;
  OutputSink* sink = nullptr;
  UniqueFd fd;
  std::string label;
  std::string line;
  bool* held_back = nullptr;
  bool paused = false;

  void ready(std::uint32_t) override {
    if (!fd) return;
    if (sink->dead()) return close();  // the task learns it as it would from a pipe: SIGPIPE
    if (sink->congested()) {
      paused = *held_back = true;
      poller->change(fd.get(), 0, *this);
      return;
    }
    take();
  }

  /// Reads once; false at the end, or when nothing is there.
  bool take() {
    std::array<char, std::size_t{64} << 10> buffer;
    const ssize_t size = ::read(fd.get(), buffer.data(), buffer.size());
    if (size < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (size <= 0) {
      close();
      return false;
    }
    add({buffer.data(), static_cast<std::size_t>(size)});
    return true;
  }

  void add(std::string_view text) {
    std::string out;
    for (auto end = text.find('\n'); end != std::string_view::npos; end = text.find('\n')) {
      out.append(label).append(line).append(text.substr(0, end + 1));
      line.clear();
      text.remove_prefix(end + 1);
    }
    line.append(text);
    if (line.size() >= kLongestLine) {
      out.append(label).append(line).append("\n");
      line.clear();
    }
    if (!out.empty()) sink->write(out);
  }

  void resume() {
    if (!paused || !fd) return;
    if (sink->congested()) {
      *held_back = true;
      return;
    }
    paused = false;
    poller->change(fd.get(), EPOLLIN, *this);
  }

  void close() {
    if (!line.empty()) {
      line.insert(0, label);
      line += '\n';
      sink->write(line);
      line.clear();
    }
    poller->remove(fd.get());
    fd.reset();
  }
};

StepIo::StepIo(Poller& poller, const StepRequest& request, IoPlan plan, JobId job, StepId step)
    : poller_(poller), request_(request), plan_(std::move(plan)), job_(job), step_(step) {
  label_width_ = static_cast<int>(std::to_string(request.layout.task_count() - 1).size());
}

StepIo::~StepIo() = default;

Result<> StepIo::open_shared() {
  const auto acting = ActAs::begin(request_.owner);
  if (!acting) return expected_ns::unexpected<Error>(acting.error());
  const PatternFacts facts{
      .job = job_, .step = step_, .node_name = {}, .user = request_.owner.user};
  for (std::size_t stream = 1; stream < 3; ++stream) {
    const auto& pattern = plan_.streams[stream];
    const bool joined = stream == 2 && plan_.error_joins_output;
    if (pattern.kind != StreamPlan::Kind::file || pattern.per_task || pattern.per_node || joined) {
      continue;
    }
    auto fd = open_stream_file(static_cast<int>(stream), expand_pattern(pattern.pattern, facts));
    if (!fd) return propagate(std::move(fd));
    shared_[stream] = std::move(*fd);
  }
  return {};
}

Result<NodeStdio> StepIo::prepare_node(std::uint32_t node_index) {
  NodeStdio stdio;
  const auto count = request_.layout.tasks_on(node_index);
  stdio.tasks.reserve(count);
  const auto acting = ActAs::begin(request_.owner);
  if (!acting) return expected_ns::unexpected<Error>(acting.error());
  for (std::uint32_t local = 0; local < count; ++local) {
    const auto rank = request_.layout.rank_of(node_index, local);
    TaskStdio fds{kInherit, kInherit, kInherit};
    auto input = input_fd(rank, stdio);
    if (!input) return propagate(std::move(input));
    fds[0] = *input;
    for (std::size_t stream = 1; stream < 3; ++stream) {
      auto output = output_fd(stream, node_index, rank, stdio);
      if (!output) return propagate(std::move(output));
      fds[stream] = *output;
    }
    stdio.tasks.push_back(fds);
  }
  return stdio;
}

Result<int> StepIo::input_fd(std::uint32_t rank, NodeStdio& stdio) {
  const auto& input = plan_.streams[0];
  switch (input.kind) {
    case StreamPlan::Kind::none:
      return kNullDevice;
    case StreamPlan::Kind::file:
      return kOpenOnNode;
    case StreamPlan::Kind::one_task:
      return rank == input.rank ? kInherit : kNullDevice;
    case StreamPlan::Kind::all:
      break;
  }
  if (request_.layout.task_count() == 1) return kInherit;
  auto ends = make_pipe();
  if (!ends) return propagate(std::move(ends));
  set_nonblocking(ends->second.get());
  if (!pump_) pump_ = std::make_unique<InputPump>(poller_, 0);
  pump_->add_task(rank, std::move(ends->second));
  stdio.owned.push_back(std::move(ends->first));
  return stdio.owned.back().get();
}

Result<int> StepIo::output_fd(std::size_t stream, std::uint32_t node, std::uint32_t rank,
                              NodeStdio& stdio) {
  const auto& output = plan_.streams[stream];
  if (output.kind == StreamPlan::Kind::none) return kNullDevice;
  if (output.kind == StreamPlan::Kind::one_task && rank != output.rank) return kNullDevice;
  if (request_.label) return labelled(stream, node, rank, stdio);
  if (output.kind != StreamPlan::Kind::file) return kInherit;
  if (output.per_task || output.per_node) return kOpenOnNode;
  const std::size_t source = stream == 2 && plan_.error_joins_output ? 1 : stream;
  return shared_[source].get();
}

Result<int> StepIo::labelled(std::size_t stream, std::uint32_t node, std::uint32_t rank,
                             NodeStdio& stdio) {
  auto sink = sink_for(stream, node, rank);
  if (!sink) return propagate(std::move(sink));
  auto ends = make_pipe();
  if (!ends) return propagate(std::move(ends));
  set_nonblocking(ends->first.get());
  auto one = std::make_unique<Stream>();
  one->poller = &poller_;
  one->sink = *sink;
  one->held_back = &held_back_;
  one->fd = std::move(ends->first);
  one->label = std::to_string(rank);
  one->label.insert(0, static_cast<std::size_t>(label_width_) - one->label.size(), ' ');
  one->label += ": ";
  poller_.add(one->fd.get(), EPOLLIN, *one);
  streams_.push_back(std::move(one));
  stdio.owned.push_back(std::move(ends->second));
  return stdio.owned.back().get();
}

Result<OutputSink*> StepIo::sink_for(std::size_t stream, std::uint32_t node, std::uint32_t rank) {
  const auto& output = plan_.streams[stream];
  std::string path;
  if (output.kind == StreamPlan::Kind::file) {
    path = expand_pattern(output.pattern, {.job = job_,
                                           .step = step_,
                                           .node_index = node,
                                           .rank = rank,
                                           .node_name = request_.node_names[node],
                                           .user = request_.owner.user});
  }
  const auto key = path.empty() ? std::to_string(kOwnStreams[stream]) : path;
  auto& sink = sinks_[key];
  if (sink) return sink.get();
  if (path.empty()) {
    sink = std::make_unique<OutputSink>(poller_, kOwnStreams[stream]);
    return sink.get();
  }
  const std::size_t source = stream == 2 && plan_.error_joins_output ? 1 : stream;
  auto fd = shared_[source] ? Result<UniqueFd>(std::move(shared_[source]))
                            : open_stream_file(static_cast<int>(stream), path);
  if (!fd) return propagate(std::move(fd));
  sink = std::make_unique<OutputSink>(poller_, std::move(*fd));
  return sink.get();
}

void StepIo::start() {
  for (auto& fd : shared_) fd.reset();
  if (pump_) pump_->start();
}

void StepIo::task_ended(std::uint32_t rank) {
  if (pump_) pump_->drop_task(rank);
}

void StepIo::resume_streams() {
  if (!std::exchange(held_back_, false)) return;
  for (auto& stream : streams_) stream->resume();
}

void StepIo::finish() {
  for (auto& stream : streams_) {
    while (stream->fd && stream->take()) stream->sink->finish();
    if (stream->fd) stream->close();
  }
  for (auto& [key, sink] : sinks_) sink->finish();
}

void StepIo::close_in_child() noexcept {
  for (auto& stream : streams_) stream->fd.reset();
  if (pump_) pump_->close_all();
}

}  // namespace hal::host
