// SPDX-License-Identifier: BSD-3-Clause
// Standard streams of a step, through the real command.
#include <gmock/gmock.h>

#include "tests/e2e/step_fixture.h"

namespace backplane_test {
namespace {

using ::testing::HasSubstr;
using Lines = std::multiset<std::string>;

class StepStreams : public StepTest {};

TEST_F(StepStreams, LabelsEachLineAndTheUnfinishedLast) {
  const auto ran = run_shell({"-n2", "-l"}, "printf 'one\\n\\ntail'; printf 'oops' >&2");

  EXPECT_EQ(ran.lines(), (Lines{"0: one", "0: ", "0: tail", "1: one", "1: ", "1: tail"}));
  EXPECT_THAT(ran.err, HasSubstr("0: oops\n"));
  EXPECT_THAT(ran.err, HasSubstr("1: oops\n"));
}

TEST_F(StepStreams, NeverMixesLinesOfAMegabyte) {
  const auto ran = run_shell({"-n4", "-l"},
                             "for i in 1 2 3; do head -c 1048576 /dev/zero | tr '\\0' "
                             "$SLURM_PROCID; echo; done");

  Lines expected;
  for (int rank = 0; rank < 4; ++rank) {
    const auto digit = static_cast<char>('0' + rank);
    for (int line = 0; line < 3; ++line) {
      expected.insert(std::string{digit} + ": " + std::string(1U << 20, digit));
    }
  }
  EXPECT_TRUE(ran.lines() == expected);
}

TEST_F(StepStreams, PassesBytesOnAsTheyAre) {
  const auto ran = run_shell({}, "head -c 3000000 /dev/zero; printf end");

  EXPECT_EQ(ran.out.size(), 3000003U);
  EXPECT_TRUE(ran.out.ends_with(std::string("\0end", 4)));
}

TEST_F(StepStreams, GivesInputToEveryTask) {
  std::string input(300'000, 'x');
  input += "\nlast\n";

  const auto ran = run_shell({"-N2", "-n3"}, "wc -c", input);

  EXPECT_EQ(ran.lines(), (Lines{"300006", "300006", "300006"})) << ran.err;
}

TEST_F(StepStreams, GoesOnWhenSomeTasksDoNotRead) {
  const auto ran =
      run_shell({"-n3"}, "test $SLURM_PROCID = 1 && wc -c; true", std::string(3U << 20, 'y'));

  EXPECT_EQ(ran.out, std::to_string(3U << 20) + "\n");
}

TEST_F(StepStreams, GivesInputToNobodyOrToOne) {
  EXPECT_EQ(run_shell({"-n2", "-i", "none"}, "wc -c", "text").lines(), (Lines{"0", "0"}));
  EXPECT_EQ(run_shell({"-n2", "-i", "1"}, "echo $SLURM_PROCID $(wc -c)", "text").lines(),
            (Lines{"0 0", "1 4"}));
  EXPECT_EQ(run_shell({}, "wc -c", "text").out, "4\n");
}

TEST_F(StepStreams, ReadsInputFiles) {
  write_file(dir() + "/in.0", "zero");
  write_file(dir() + "/in.1", "one");

  EXPECT_EQ(run_shell({"-n2", "-i", dir() + "/in.%t"}, "echo $(cat)").lines(),
            (Lines{"zero", "one"}));
  EXPECT_EQ(run_shell({"-n2", "-i", dir() + "/in.1"}, "echo $(cat)").lines(),
            (Lines{"one", "one"}));
}

TEST_F(StepStreams, WritesFilesByPattern) {
  const auto ran = run_shell({"-N2", "-n4", "-o", dir() + "/out.%j.%3t", "-e", dir() + "/err.%N"},
                             "echo out $SLURM_PROCID; echo err $SLURM_PROCID >&2");

  EXPECT_EQ(ran.code, 0) << ran.err;
  for (int rank = 0; rank < 4; ++rank) {
    const auto number = std::to_string(rank);
    EXPECT_EQ(read_file(dir() + "/out.1.00" + number), "out " + number + "\n");
  }
  EXPECT_EQ(read_file(dir() + "/err.n0").size(), 12U);
  EXPECT_EQ(read_file(dir() + "/err.n1").size(), 12U);
}

TEST_F(StepStreams, WritesOneFileForAll) {
  for (const auto* label : {"-l", "-Q"}) {
    const auto ran = run_shell({"-n3", label, "-o", dir() + "/all"}, "echo a; echo b >&2");
    EXPECT_EQ(ran.out + ran.err, "");
    Ran file;
    file.out = read_file(dir() + "/all");
    EXPECT_EQ(file.lines().size(), 6U) << "error goes where output goes";
  }
  EXPECT_THAT(read_file(dir() + "/all"), Not(HasSubstr("0: ")));
}

TEST_F(StepStreams, TakesOutputOfOneTaskOnly) {
  EXPECT_EQ(run_shell({"-n3", "-o", "2"}, "echo $SLURM_PROCID").out, "2\n");
  EXPECT_EQ(run_shell({"-n3", "-l", "-o", "2"}, "echo x").out, "2: x\n");
  EXPECT_EQ(run_shell({"-n3", "-o", "none"}, "echo x; echo y >&2").out, "");
}

TEST_F(StepStreams, RefusesPatternsAndRanksThatMeanNothing) {
  EXPECT_EQ(run({"-o", "x.%q", "true"}).code, 2);
  const auto ran = run({"-n2", "-o", "2", "true"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_THAT(ran.err, HasSubstr("there is no task 2; the last one is 1"));
}

TEST_F(StepStreams, FailsBeforeTheStepWhenASharedFileCannotBeOpened) {
  const auto ran = run({"-o", dir() + "/missing/out", "true"});

  EXPECT_EQ(ran.code, 1);
  EXPECT_THAT(ran.err, HasSubstr("/missing/out': No such file or directory"));
  EXPECT_EQ(ledger_count(), 0U);
}

TEST_F(StepStreams, EndsWhenTheReaderOfLabelledOutputIsGone) {
  const auto ran = Running({"/bin/sh", "-c",
                            BACKPLANE_BIN_DIR "/backplane run --state-dir " + state_dir() +
                                " -n 2 -l yes | head -n 1 | wc -l"},
                           std::nullopt, {})
                       .finish();

  EXPECT_EQ(ran.out, "1\n");
}

TEST_F(StepStreams, DoesNotWaitForAnEscapeeThatHoldsTheOutput) {
  for (const auto* option : {"-l", "-Q"}) {
    const auto fifo = dir() + "/up" + option;
    const auto ran =
        run_shell({"-v", option}, "mkfifo " + fifo + "; setsid sh -c '(echo up >" + fifo +
                                      "; exec sleep 1000) &'; read line <" + fifo + "; echo done");

    EXPECT_EQ(ran.code, 0);
    EXPECT_THAT(ran.out, ::testing::EndsWith("done\n"));
    EXPECT_THAT(ran.err, HasSubstr("escaped the tracker: 1\nsurvivors: 0\n"));
  }
}

}  // namespace
}  // namespace backplane_test
