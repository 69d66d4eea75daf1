// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/step_process.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace hal::conformance {
namespace {

constexpr std::size_t kPacket = 32768;

Outcome failed(const Error& error) { return {false, error.kind, error.code, error.detail, {}}; }

// "ok", or kind and code; then detail; then the environment: fields that end with a NUL.
std::string encode(const Outcome& outcome) {
  std::string text = outcome.ok ? "ok" : "no";
  const auto field = [&](const std::string& value) { text.append(1, '\0').append(value); };
  field(std::to_string(static_cast<int>(outcome.kind)));
  field(std::to_string(outcome.code));
  field(outcome.detail);
  for (const auto& [name, value] : outcome.environment) {
    field(name);
    field(value);
  }
  return text;
}

Outcome decode(const std::string& text) {
  std::vector<std::string> fields(1);
  for (const char c : text) {
    if (c == '\0') {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  if (fields.size() < 4) return {false, Errc::internal, EIO, "the process died", {}};
  Outcome outcome{fields[0] == "ok",
                  static_cast<Errc>(std::atoi(fields[1].c_str())),
                  std::atoi(fields[2].c_str()),
                  fields[3],
                  {}};
  for (std::size_t i = 4; i + 1 < fields.size(); i += 2) {
    outcome.environment.emplace_back(fields[i], fields[i + 1]);
  }
  return outcome;
}

void send_text(int socket, const std::string& text) {
  static_cast<void>(::send(socket, text.data(), text.size(), MSG_NOSIGNAL));
}

std::string receive(int socket) {
  std::string buffer(kPacket, '\0');
  ssize_t got = 0;
  do {
    got = ::recv(socket, buffer.data(), buffer.size(), 0);
  } while (got < 0 && errno == EINTR);
  buffer.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return buffer;
}

Outcome outcome_of(const Result<>& result) {
  return result ? Outcome{true, {}, 0, {}, {}} : failed(result.error());
}

struct Session {
  InterconnectNode& node;
  const Credential& credential;
  uid_t owner;
  int socket;
  int hold;

  [[noreturn]] void run_task(const TaskPlace& place) const {
    backend_under_test().become(owner);
    const Result<EnvUpdates> result = node.attach(credential, place);
    send_text(socket, encode(result ? Outcome{true, {}, 0, {}, *result} : failed(result.error())));
    ::close(socket);
    char end = 0;
    while (::read(hold, &end, 1) < 0 && errno == EINTR) {
    }
    ::_exit(0);
  }

  [[noreturn]] void run() const {
    for (;;) {
      const std::string order = receive(socket);
      TaskPlace place;
      if (order == "open") {
        send_text(socket, encode(outcome_of(node.open_context(credential, owner))));
      } else if (order == "leave") {
        send_text(socket, encode(outcome_of(node.leave(credential))));
      } else if (order == "reap") {
        while (::wait(nullptr) > 0 || errno == EINTR) {
        }
        send_text(socket, encode({true, {}, 0, {}, {}}));
      } else if (order.size() == 1 + sizeof place) {
        std::memcpy(&place, order.data() + 1, sizeof place);
        if (::fork() == 0) run_task(place);
      } else {
        ::_exit(0);
      }
    }
  }
};

}  // namespace

StepProcess::StepProcess(InterconnectNode& node, Credential credential, uid_t owner) {
  std::array<int, 2> ends{};
  std::array<int, 2> hold{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0 ||
      ::pipe2(hold.data(), O_CLOEXEC) != 0) {
    std::abort();
  }
  session_ = ::fork();
  if (session_ == 0) {
    ::close(ends[0]);
    ::close(hold[1]);
    Session{node, credential, owner, ends[1], hold[0]}.run();
  }
  ::close(ends[1]);
  ::close(hold[0]);
  socket_ = ends[0];
  hold_ = hold[1];
}

StepProcess::~StepProcess() {
  release_tasks();
  if (socket_ >= 0) ::close(socket_);
  wait_session();
}

Outcome StepProcess::ask(const std::string& order) {
  send_text(socket_, order);
  return decode(receive(socket_));
}

Outcome StepProcess::open() { return ask("open"); }
Outcome StepProcess::leave() { return ask("leave"); }

Outcome StepProcess::attach(const TaskPlace& place) {
  std::string order(1 + sizeof place, 't');
  std::memcpy(order.data() + 1, &place, sizeof place);
  return ask(order);
}

void StepProcess::release_tasks() {
  if (hold_ >= 0) ::close(std::exchange(hold_, -1));
}

void StepProcess::wait_session() {
  while (session_ > 0 && ::waitpid(session_, nullptr, 0) < 0 && errno == EINTR) {
  }
  session_ = -1;
}

void StepProcess::finish() {
  release_tasks();
  static_cast<void>(ask("reap"));
  finish_session();
}

void StepProcess::finish_session() {
  send_text(socket_, "exit");
  wait_session();
}

void StepProcess::crash() {
  ::kill(session_, SIGKILL);
  wait_session();
}

}  // namespace hal::conformance
