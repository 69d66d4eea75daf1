// SPDX-License-Identifier: BSD-3-Clause
// Small parts of the step host: patterns, notices, messages, environment, outcome.
#include <csignal>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/descendants.h"
#include "host/io_plan.h"
#include "host/notices.h"
#include "host/step_env.h"
#include "host/step_messages.h"
#include "host/step_outcome.h"

namespace hal::host {
namespace {

TEST(IoPlanTest, ReadsWordsRanksAndPatterns) {
  EXPECT_EQ(parse_stream("--output", "", 2, "/d")->kind, StreamPlan::Kind::all);
  EXPECT_EQ(parse_stream("--output", "none", 2, "/d")->kind, StreamPlan::Kind::none);
  EXPECT_EQ(parse_stream("--output", "1", 2, "/d")->rank, 1U);
  EXPECT_FALSE(parse_stream("--output", "2", 2, "/d"));
  const auto file = parse_stream("--output", "out.%3t", 2, "/d");
  EXPECT_EQ(file->pattern, "/d/out.%3t");
  EXPECT_TRUE(file->per_task);
  EXPECT_FALSE(file->per_node);
  EXPECT_TRUE(parse_stream("--output", "/x%N", 2, "/d")->per_node);
  EXPECT_FALSE(parse_stream("--output", "/x%t%%", 2, "/d")->per_node);
  EXPECT_FALSE(parse_stream("--output", "x%", 2, "/d"));
  EXPECT_FALSE(parse_stream("--output", "x%z", 2, "/d"));
}

TEST(IoPlanTest, ExpandsEachConversion) {
  const PatternFacts facts{.job = JobId{12},
                           .step = StepId{3},
                           .node_index = 4,
                           .rank = 56,
                           .node_name = "n4",
                           .user = "me"};

  EXPECT_EQ(expand_pattern("%j %J %s %n %N %t %u %%", facts), "12 12.3 3 4 n4 56 me %");
  EXPECT_EQ(expand_pattern("%4t-%1t-%4j", facts), "0056-56-0012");
  EXPECT_EQ(expand_pattern("%999t", facts), "0000000056") << "padding is bounded";
}

TEST(NoticesTest, JoinsEqualTexts) {
  Notices notices;
  for (const std::uint32_t rank : {3U, 1U, 2U, 7U}) notices.add("n0", rank, "failed");
  notices.add("n1", 4, "failed");
  std::string said;

  notices.flush([&](const std::string& line) { said += line + "\n"; });

  EXPECT_EQ(said, "n0: tasks 1-3,7: failed\nn1: task 4: failed\n");
  EXPECT_TRUE(notices.explained(7));
  EXPECT_TRUE(notices.empty());
}

TEST(StepMessagesTest, CarriesRecordsAndSplitsLists) {
  auto pair = MessageSocket::make_pair();
  ASSERT_TRUE(pair);
  const std::vector<TaskBirth> births(3000, TaskBirth{.pid = 7, .start_time = 9});
  ASSERT_TRUE(pair->first.send_list(MessageKind::tasks, std::span<const TaskBirth>(births)));
  ASSERT_TRUE(pair->first.send(MessageKind::signal, std::int32_t{15}));
  pair->first.close();

  std::size_t count = 0;
  Message message;
  while (pair->second.receive(message) == MessageSocket::Receive::message &&
         message.kind == MessageKind::tasks) {
    count += message.list<TaskBirth>().size();
  }

  EXPECT_EQ(count, births.size());
  EXPECT_EQ(message.one<std::int32_t>(), 15);
  EXPECT_EQ(message.one<Problem>(), std::nullopt) << "another size is another record";
  EXPECT_EQ(pair->second.receive(message), MessageSocket::Receive::closed);
}

TEST(StepMessagesTest, KeepsTheLastWordsOfAPeerThatLeftOrdersUnread) {
  auto pair = MessageSocket::make_pair();
  ASSERT_TRUE(pair);
  ASSERT_TRUE(pair->first.send(MessageKind::signal, std::int32_t{15}));
  ASSERT_TRUE(pair->second.send(MessageKind::finished, NodeFinished{.escaped = 5}));
  pair->second.close();

  Message message;

  ASSERT_EQ(pair->first.receive(message), MessageSocket::Receive::message);
  EXPECT_EQ(message.one<NodeFinished>()->escaped, 5U);
  EXPECT_FALSE(pair->first.send_empty(MessageKind::kill_all));
}

TEST(StepMessagesTest, RefusesWhatIsTooShort) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  MessageSocket reader{UniqueFd(ends[0])};
  const UniqueFd writer(ends[1]);
  ASSERT_EQ(::send(writer.get(), "ab", 2, 0), 2);

  Message message;

  EXPECT_EQ(reader.receive(message), MessageSocket::Receive::closed);
}

TEST(StepEnvTest, CountsPerNodeAreJoined) {
  const auto layout = [](const char* nodes, std::uint32_t tasks) {
    return *StepLayout::from_counts(*NodeList::parse(nodes), tasks, TaskDistribution::block);
  };

  EXPECT_EQ(tasks_per_node_text(layout("n[0-3]", 8)), "2(x4)");
  EXPECT_EQ(tasks_per_node_text(layout("n[0-3]", 7)), "2(x3),1");
  EXPECT_EQ(tasks_per_node_text(layout("n0", 5)), "5");
}

TEST(StepOutcomeTest, AnswersTheHighestCode) {
  StepOutcome outcome;
  outcome.tasks.resize(2, {.started = true, .ended = true});
  EXPECT_EQ(outcome.exit_code(), 0);
  outcome.timed_out = true;
  EXPECT_EQ(outcome.exit_code(), 124);
  outcome.tasks[1].wait_status = SIGKILL;
  EXPECT_EQ(outcome.exit_code(), 128 + SIGKILL);
  outcome.timed_out = false;
  outcome.tasks[1].wait_status = 0;
  outcome.survivors = 1;
  EXPECT_EQ(outcome.exit_code(), 1);
}

TEST(DescendantsTest, SweepEndsAWholeTreeAndSparesOne) {
  ASSERT_TRUE(adopt_orphans());
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t spared = ::fork();
  if (spared == 0) ::_exit(::pause());
  const pid_t tree = ::fork();
  if (tree == 0) {
    for (int level = 0; level < 3; ++level) {
      if (::fork() != 0) break;
      (void)::setsid();
    }
    (void)!::write(ready[1], "x", 1);
    ::_exit(::pause());
  }
  char bytes[4];
  for (int got = 0; got < 4; ++got) ASSERT_EQ(::read(ready[0], bytes, 1), 1);

  const std::array<pid_t, 1> kept{spared};
  const auto swept = sweep_descendants(kept, std::chrono::seconds(20), [](pid_t, int) {});

  EXPECT_EQ(swept.found, 4U);
  EXPECT_EQ(swept.survivors, 0U);
  EXPECT_TRUE(process_facts(spared));
  EXPECT_EQ(children().size(), 1U);
  EXPECT_EQ(sweep_descendants({}, std::chrono::seconds(20), [](pid_t, int) {}).found, 1U);
  EXPECT_TRUE(children().empty());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST(DescendantsTest, AReusedNumberIsNotKilled) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(::pause());
  const auto facts = process_facts(child);
  ASSERT_TRUE(facts);

  EXPECT_TRUE(kill_process(child, facts->start_time + 1, std::chrono::milliseconds(0)));
  EXPECT_TRUE(is_alive(child, facts->start_time));

  EXPECT_TRUE(kill_process(child, facts->start_time, std::chrono::seconds(20)));
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace hal::host
