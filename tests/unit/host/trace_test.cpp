// SPDX-License-Identifier: BSD-3-Clause
#include "host/trace.h"

#include <csignal>
#include <gtest/gtest.h>
#include <map>
#include <sys/wait.h>
#include <unistd.h>

namespace hal::host {
namespace {

Trace made(std::size_t capacity = 4096) {
  auto trace = Trace::create(capacity);
  EXPECT_TRUE(trace) << trace.error().detail;
  return trace ? std::move(*trace) : Trace();
}

/// Runs `body` in a child process and answers its wait status.
template <class Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

TEST(TraceTest, OffItOnlyCalls) {
  Trace trace;

  const int result = trace.call("anything", [] { return 5; });

  EXPECT_EQ(result, 5);
  EXPECT_FALSE(trace.on());
  EXPECT_TRUE(trace.snapshot().records.empty());
}

TEST(TraceTest, RecordsWhoWhatAndHow) {
  Trace trace = made();
  trace.set_process(ProcessRole::task, "n3", 7);

  trace.call("switch_p_job_attach", [] {
    errno = EBUSY;
    return -1;
  });

  const TraceSnapshot snapshot = trace.snapshot();
  ASSERT_EQ(snapshot.records.size(), 1U);
  const TraceRecord& record = snapshot.records.front();
  EXPECT_STREQ(record.call.data(), "switch_p_job_attach");
  EXPECT_STREQ(record.node.data(), "n3");
  EXPECT_EQ(record.role, ProcessRole::task);
  EXPECT_EQ(record.task, 7);
  EXPECT_EQ(record.pid, ::getpid());
  EXPECT_EQ(record.uid, ::geteuid());
  EXPECT_EQ(record.kind, TraceResult::number);
  EXPECT_EQ(record.value, -1);
  EXPECT_EQ(record.error_number, EBUSY);
}

TEST(TraceTest, LeavesErrnoAsTheCallLeftIt) {
  Trace trace = made();

  trace.call("fails", [] {
    errno = ENODEV;
    return -1;
  });

  EXPECT_EQ(errno, ENODEV);
}

TEST(TraceTest, ResultsOfEveryType) {
  Trace trace = made();
  int object = 0;

  trace.call("void", [] {});
  trace.call("true", [] { return true; });
  EXPECT_EQ(trace.call("pointer", [&] { return &object; }), &object);
  trace.call("null", []() -> void* { return nullptr; });
  trace.call("id", [] { return std::uint64_t{9}; });

  const auto records = trace.snapshot().records;
  ASSERT_EQ(records.size(), 5U);
  EXPECT_EQ(records[0].kind, TraceResult::nothing);
  EXPECT_EQ(records[1].kind, TraceResult::boolean);
  EXPECT_EQ(records[1].value, 1);
  EXPECT_EQ(records[2].kind, TraceResult::pointer);
  EXPECT_EQ(records[2].value, 1);
  EXPECT_EQ(records[3].value, 0);
  EXPECT_EQ(records[4].value, 9);
}

TEST(TraceTest, CollectsFromEveryProcess) {
  Trace trace = made();
  constexpr int kProcesses = 4;
  constexpr int kCalls = 200;
  std::array<pid_t, kProcesses> children{};

  for (int i = 0; i < kProcesses; ++i) {
    children[static_cast<std::size_t>(i)] = ::fork();
    if (children[static_cast<std::size_t>(i)] != 0) continue;
    trace.set_process(ProcessRole::task, "n1", i);
    for (int call = 0; call < kCalls; ++call) trace.call("step", [&] { return call; });
    ::_exit(0);
  }
  for (const pid_t child : children) ASSERT_EQ(::waitpid(child, nullptr, 0), child);

  const TraceSnapshot snapshot = trace.snapshot();
  std::map<std::int32_t, std::int64_t> next_of_task;
  for (const TraceRecord& record : snapshot.records) {
    EXPECT_EQ(record.value, next_of_task[record.task]++) << "order within one process";
  }
  EXPECT_EQ(snapshot.records.size(), std::size_t{kProcesses} * kCalls);
  EXPECT_EQ(next_of_task.size(), std::size_t{kProcesses});
}

TEST(TraceTest, ACallThatKillsItsProcessIsSeen) {
  Trace trace = made();

  const int status = in_child([&] { trace.call("deadly", [] { return ::raise(SIGKILL); }); });

  EXPECT_TRUE(WIFSIGNALED(status));
  const auto records = trace.snapshot().records;
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].kind, TraceResult::running);
}

TEST(TraceTest, AFullTraceCountsWhatItDrops) {
  Trace trace = made(3);

  for (int i = 0; i < 10; ++i) EXPECT_EQ(trace.call("step", [&] { return i; }), i);

  const TraceSnapshot snapshot = trace.snapshot();
  EXPECT_EQ(snapshot.records.size(), 3U);
  EXPECT_EQ(snapshot.dropped, 7U);
}

TEST(TraceTest, LongNamesAreCut) {
  Trace trace = made();
  trace.set_process(ProcessRole::node_daemon, std::string(300, 'n'));

  trace.call(std::string(300, 'c').c_str(), [] { return 0; });

  const auto records = trace.snapshot().records;
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(std::string(records[0].node.data()), std::string(records[0].node.size() - 1, 'n'));
  EXPECT_EQ(std::string(records[0].call.data()), std::string(records[0].call.size() - 1, 'c'));
}

TEST(TraceTest, AMovedTraceKeepsItsRecords) {
  Trace first = made();
  first.call("before", [] { return 0; });

  Trace second = std::move(first);
  second.call("after", [] { return 0; });

  EXPECT_FALSE(first.on());  // NOLINT(bugprone-use-after-move): that is the question
  EXPECT_EQ(second.snapshot().records.size(), 2U);
}

TEST(TraceTest, SizesThatCannotBeMeantAreRefused) {
  EXPECT_FALSE(Trace::create(0));
  EXPECT_FALSE(Trace::create(std::size_t{1} << 40));
}

}  // namespace
}  // namespace hal::host
