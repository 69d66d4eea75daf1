// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <gmock/gmock.h>
#include <set>

#include <nlohmann/json.hpp>

#include "host/trace.h"

namespace hal::host {
namespace {

using ::testing::HasSubstr;

TraceRecord record(pid_t pid, ProcessRole role, const char* node, const char* call) {
  TraceRecord out{};
  out.start_ns = 1000;
  out.duration_ns = 1500;
  out.pid = pid;
  out.uid = 0;
  out.task = role == ProcessRole::task ? 2 : -1;
  out.role = role;
  out.kind = TraceResult::number;
  std::strncpy(out.call.data(), call, out.call.size() - 1);
  std::strncpy(out.node.data(), node, out.node.size() - 1);
  return out;
}

/// A controller, a manager on n1 whose second call fails as another user, and a task that dies.
TraceSnapshot sample() {
  TraceSnapshot snapshot;
  snapshot.records.push_back(record(10, ProcessRole::controller, "", "switch_p_build_jobinfo"));
  snapshot.records.push_back(record(11, ProcessRole::job_manager, "n1", "switch_p_job_preinit"));
  snapshot.records.push_back(record(12, ProcessRole::task, "n1", "switch_p_job_attach"));
  snapshot.records.push_back(record(11, ProcessRole::job_manager, "n1", "switch_p_job_postfini"));
  snapshot.records[1].start_ns = 3000;
  snapshot.records[2].kind = TraceResult::running;
  snapshot.records[3].value = -1;
  snapshot.records[3].error_number = EBUSY;
  snapshot.records[3].uid = 1000;
  snapshot.dropped = 4;
  return snapshot;
}

TEST(TraceTextTest, OneBlockPerProcessInOrder) {
  const std::string text = trace_as_text(sample());

  const std::size_t controller = text.find("controller, pid 10");
  const std::size_t manager = text.find("job manager on n1, pid 11");
  const std::size_t task = text.find("task 2 on n1, pid 12");
  EXPECT_LT(controller, manager);
  EXPECT_LT(manager, task);
  EXPECT_LT(text.find("switch_p_job_postfini"), task);
  EXPECT_THAT(text, HasSubstr("did not return"));
  EXPECT_THAT(text, HasSubstr("EBUSY (Device or resource busy)"));
  EXPECT_THAT(text, HasSubstr("as user 1000"));
  EXPECT_THAT(text, HasSubstr("4 later calls were not kept"));
}

TEST(TraceTextTest, NothingIsEmpty) { EXPECT_EQ(trace_as_text({}), ""); }

TEST(TraceJsonTest, EveryCallIsAnObject) {
  const auto json = nlohmann::json::parse(trace_as_json(sample()));

  EXPECT_EQ(json["dropped"], 4);
  ASSERT_EQ(json["calls"].size(), 4U);
  EXPECT_EQ(json["calls"][0]["call"], "switch_p_build_jobinfo");
  EXPECT_EQ(json["calls"][0]["task"], nullptr);
  EXPECT_EQ(json["calls"][1]["start_ns"], 3000);
  EXPECT_EQ(json["calls"][2]["returned"], false);
  EXPECT_EQ(json["calls"][2]["task"], 2);
  EXPECT_EQ(json["calls"][3]["result"], -1);
  EXPECT_EQ(json["calls"][3]["errno"], EBUSY);
}

TEST(TraceJsonTest, NothingIsStillJson) {
  EXPECT_TRUE(nlohmann::json::parse(trace_as_json({}))["calls"].empty());
  EXPECT_TRUE(nlohmann::json::parse(trace_as_timeline({}))["traceEvents"].is_array());
}

TEST(TraceJsonTest, NamesAreEscaped) {
  TraceSnapshot snapshot;
  snapshot.records.push_back(record(1, ProcessRole::task, "n\"1\\\n\x01\xff\x7f", "a\"b\\c\td"));

  const auto json = nlohmann::json::parse(trace_as_json(snapshot));
  const auto timeline = nlohmann::json::parse(trace_as_timeline(snapshot));

  EXPECT_EQ(json["calls"][0]["call"], "a\"b\\c\td");
  EXPECT_EQ(json["calls"][0]["node"], "n\"1\\\n\x01\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(timeline["traceEvents"].back()["name"], "a\"b\\c\td");
}

TEST(TraceTimelineTest, NodesAreLanesAndProcessesAreRows) {
  const auto events = nlohmann::json::parse(trace_as_timeline(sample()))["traceEvents"];

  std::set<std::string> names;
  std::size_t calls = 0;
  for (const auto& event : events) {
    if (event["ph"] == "X") ++calls;
    if (event["ph"] == "M" && event["args"].contains("name")) names.insert(event["args"]["name"]);
  }
  EXPECT_EQ(calls, 4U);
  EXPECT_EQ(names, (std::set<std::string>{"controller", "controller side", "job manager on n1",
                                          "node n1", "task 2 on n1"}));
}

TEST(TraceTimelineTest, TimesAreMicrosecondsFromTheFirstCall) {
  const auto events = nlohmann::json::parse(trace_as_timeline(sample()))["traceEvents"];

  for (const auto& event : events) {
    if (event["name"] != "switch_p_job_preinit") continue;
    EXPECT_DOUBLE_EQ(event["ts"], 2.0);
    EXPECT_DOUBLE_EQ(event["dur"], 1.5);
    return;
  }
  FAIL() << "the call is not in the timeline";
}

}  // namespace
}  // namespace hal::host
