// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/plugins/switch_plugin.h"

namespace hal::test {
namespace {

constexpr const char* kFile = "switch_none.so";

TEST(SwitchNone, RunsAWholeStep) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  switch_jobinfo_t job = plugin.built("n[0-1]", 4);
  TestEnvironment environment({"A=1"});

  EXPECT_EQ(plugin.node_init(), 0);
  EXPECT_EQ(plugin.job_preinit(job), 0);
  EXPECT_EQ(plugin.job_init(job, ::getuid()), 0);
  EXPECT_EQ(plugin.job_attach(job, environment.get(), 0, 0, 2, 4, 0), 0);
  EXPECT_EQ(plugin.job_fini(job), 0);
  EXPECT_EQ(plugin.job_postfini(job, 0, 1, 2), 0);
  EXPECT_EQ(plugin.job_step_complete(job, nullptr), 0);
  plugin.free_jobinfo(job);
  EXPECT_EQ(plugin.node_fini(), 0);
  EXPECT_EQ(environment.variables(), std::vector<std::string>{"A=1"});
  EXPECT_TRUE(TestHost::take_log().empty());
}

TEST(SwitchNone, CredentialsTravelAsNoBytes) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  switch_jobinfo_t job = plugin.built("n0", 1);

  const auto bytes = plugin.packed(job);

  EXPECT_TRUE(bytes.empty());
  switch_jobinfo_t copy = plugin.unpacked(bytes);
  plugin.free_jobinfo(copy);
  plugin.free_jobinfo(job);
}

TEST(SwitchNone, PostfiniKillsTheNamedGroupAndNeverItsOwn) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  switch_jobinfo_t job = plugin.built("n0", 1);
  const pid_t straggler = ::fork();
  if (straggler == 0) {
    ::setpgid(0, 0);
    ::pause();
    ::_exit(0);
  }
  ::setpgid(straggler, straggler);

  for (const uid_t harmless : {uid_t{0}, uid_t{1}, static_cast<uid_t>(::getpgrp()),
                               static_cast<uid_t>(::getpid()), ~uid_t{0}}) {
    EXPECT_EQ(plugin.job_postfini(job, harmless, 1, 0), 0) << harmless;
  }
  EXPECT_EQ(plugin.job_postfini(job, static_cast<uid_t>(straggler), 1, 0), 0);

  int status = 0;
  ASSERT_EQ(::waitpid(straggler, &status, 0), straggler);
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_EQ(plugin.job_postfini(job, static_cast<uid_t>(straggler), 1, 0), 0) << "already gone";
  plugin.free_jobinfo(job);
}

class Eras : public testing::TestWithParam<int> {};

TEST_P(Eras, Point4_NodeInfoSurvivesPackAndUnpack) {
  const TestHost host(GetParam());
  const SwitchPlugin plugin(kFile);
  for (std::uint32_t size = 0; size < 12; ++size) {
    switch_node_info_t sent = nullptr;
    switch_node_info_t received = nullptr;
    ASSERT_EQ(plugin.alloc_node_info(&sent), 0);
    ASSERT_EQ(plugin.alloc_node_info(&received), 0);
    ASSERT_EQ(plugin.build_node_info(sent), 0);
    TestBuffer buffer(size);

    const int packed = plugin.pack_node_info(sent, buffer.get());

    EXPECT_EQ(packed, GetParam() < 6 ? 0 : 4);
    EXPECT_EQ(buffer.processed(), 4U);
    buffer.rewind();
    EXPECT_EQ(plugin.unpack_node_info(received, buffer.get()), 0);
    EXPECT_EQ(buffer.processed(), 4U);
    EXPECT_EQ(plugin.free_node_info(&sent), 0);
    EXPECT_EQ(plugin.free_node_info(&received), 0);
  }
}

TEST_P(Eras, BuildTakesTheArgumentsOfItsYear) {
  const TestHost host(GetParam());
  const SwitchPlugin plugin(kFile);
  const std::array<int, 2> per_node{2, 1};
  const std::array<int, 2> negative{2, -1};
  char nodes[] = "n[0-1]";
  switch_jobinfo_t job = plugin.allocate();
  const auto build = [&](intptr_t tasks) {
    return plugin.build_jobinfo(job, nodes, tasks, 0, nullptr);
  };

  if (GetParam() < 6) {
    EXPECT_EQ(build(intptr_t{0x7fff00000003}), 0) << "only the low half of a register is an int";
    EXPECT_EQ(build(0), -1);
    EXPECT_EQ(build(-1), -1);
  } else {
    EXPECT_EQ(build(reinterpret_cast<intptr_t>(per_node.data())), 0);
    EXPECT_EQ(build(reinterpret_cast<intptr_t>(negative.data())), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(build(0), -1);
  }
  EXPECT_EQ(plugin.build_jobinfo(job, nullptr, 1, 0, nullptr), -1);
  plugin.free_jobinfo(job);
}

INSTANTIATE_TEST_SUITE_P(SwitchNone, Eras, testing::Values(4, 5, 6, 10));

TEST(SwitchNone, HostsOfZeroFourUnpackByCallingPack) {
  const TestHost host(4);
  const SwitchPlugin plugin(kFile);
  switch_node_info_t sent = nullptr;
  switch_node_info_t received = nullptr;
  ASSERT_EQ(plugin.alloc_node_info(&sent), 0);
  ASSERT_EQ(plugin.alloc_node_info(&received), 0);
  ASSERT_EQ(plugin.build_node_info(sent), 0);
  TestBuffer buffer;
  ASSERT_EQ(plugin.pack_node_info(sent, buffer.get()), 0);
  buffer.get()->size = buffer.processed();
  buffer.rewind();

  EXPECT_EQ(plugin.pack_node_info(received, buffer.get()), 0);

  EXPECT_EQ(buffer.processed(), 4U) << "what follows in the message must stay where it is";
  EXPECT_EQ(plugin.free_node_info(&sent), 0);
  EXPECT_EQ(plugin.free_node_info(&received), 0);
}

TEST(SwitchNone, Check24_FreeNodeInfoTakesBothConventions) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  switch_node_info_t by_address = nullptr;
  switch_node_info_t by_handle = nullptr;
  ASSERT_EQ(plugin.alloc_node_info(&by_address), 0);
  ASSERT_EQ(plugin.alloc_node_info(&by_handle), 0);

  EXPECT_EQ(plugin.free_node_info(&by_address), 0);
  EXPECT_EQ(by_address, nullptr);
  EXPECT_EQ(plugin.free_node_info(&by_address), 0) << "twice through the address";
  EXPECT_EQ(plugin.free_node_info(static_cast<switch_node_info_t*>(by_handle)), 0);
  EXPECT_EQ(plugin.free_node_info(nullptr), 0);
  EXPECT_TRUE(TestHost::take_log().empty());
}

TEST(SwitchNone, Check25_ErrnoIsSetAndGetErrnoStaysInItsRange) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  EXPECT_EQ(plugin.error_number(), 0) << "initial value";
  errno = 0;

  EXPECT_EQ(plugin.alloc_jobinfo(nullptr), -1);

  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(plugin.error_number(), 0) << "not a switch number";
  for (const int number : {-1, 0, EINVAL, 2999, 3000, 3099, 3100, 1 << 30}) {
    EXPECT_EQ(plugin.error_text(number), nullptr) << number;
  }
  EXPECT_EQ(TestHost::take_log().size(), 1U) << "one line a failure";
}

TEST(SwitchNone, Check27_NullCredentialsDoNoHarm) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  TestBuffer buffer;
  TestEnvironment environment({});
  std::array<char, 64> text{};
  char nodes[] = "n0";
  int out = 0;

  EXPECT_EQ(plugin.alloc_jobinfo(nullptr), -1);
  EXPECT_EQ(plugin.build_jobinfo(nullptr, nodes, 1, 0, nullptr), -1);
  EXPECT_EQ(plugin.copy_jobinfo(nullptr), nullptr);
  plugin.free_jobinfo(nullptr);
  EXPECT_GE(plugin.pack_jobinfo(nullptr, buffer.get()), 0);
  EXPECT_EQ(plugin.unpack_jobinfo(nullptr, buffer.get()), -1);
  EXPECT_EQ(plugin.get_jobinfo(nullptr, 1, &out), -1);
  EXPECT_EQ(plugin.get_data_jobinfo(nullptr, 1, &out), -1);
  plugin.print_jobinfo(nullptr, nullptr);
  EXPECT_EQ(plugin.sprint_jobinfo(nullptr, text.data(), text.size()), text.data());
  EXPECT_EQ(plugin.job_preinit(nullptr), 0);
  EXPECT_EQ(plugin.job_init(nullptr, 0), 0);
  EXPECT_EQ(plugin.job_attach(nullptr, environment.get(), 0, 0, 1, 1, 0), 0);
  EXPECT_EQ(plugin.job_fini(nullptr), 0);
  EXPECT_EQ(plugin.job_postfini(nullptr, 0, 0, 0xfffffffe), 0);
  EXPECT_EQ(plugin.job_step_complete(nullptr, nullptr), 0);
  EXPECT_EQ(plugin.job_step_part_comp(nullptr, nullptr), 0);
  EXPECT_EQ(plugin.job_step_allocated(nullptr, nullptr), 0);
  EXPECT_EQ(plugin.alloc_node_info(nullptr), -1);
  EXPECT_EQ(plugin.build_node_info(nullptr), -1);
  EXPECT_EQ(plugin.pack_node_info(nullptr, buffer.get()), 0);
  EXPECT_EQ(plugin.unpack_node_info(nullptr, buffer.get()), -1);
  EXPECT_EQ(plugin.sprintf_node_info(nullptr, text.data(), text.size()), text.data());
  EXPECT_EQ(plugin.libstate_restore(nullptr, 0), 0);
  EXPECT_EQ(plugin.libstate_save(nullptr), -1);
  EXPECT_EQ(plugin.pack_jobinfo(nullptr, nullptr), -1);
}

TEST(SwitchNone, ForeignAndStalePointersAreRefused) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  std::array<std::uint64_t, 16> foreign{};
  switch_node_info_t record = nullptr;
  ASSERT_EQ(plugin.alloc_node_info(&record), 0);

  EXPECT_EQ(plugin.job_fini(foreign.data()), -1);
  EXPECT_EQ(errno, EINVAL);
  EXPECT_EQ(plugin.job_fini(record), -1) << "a node record is no credential";
  EXPECT_EQ(plugin.free_node_info(&record), 0);
}

TEST(SwitchNone, TextsFitTheirBuffers) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);
  switch_jobinfo_t job = plugin.built("n0", 1);
  std::array<char, 32> text{};

  for (std::size_t size = 1; size <= text.size(); ++size) {
    text.fill('#');
    ASSERT_EQ(plugin.sprint_jobinfo(job, text.data(), size), text.data());
    ASSERT_LT(::strnlen(text.data(), size), size);
    ASSERT_TRUE(size == text.size() || text[size] == '#');
    text.fill('#');
    ASSERT_EQ(plugin.sprintf_node_info(nullptr, text.data(), size), text.data());
    ASSERT_TRUE(size == text.size() || text[size] == '#');
  }
  text.fill('#');
  EXPECT_EQ(plugin.sprint_jobinfo(job, text.data(), 0), nullptr);
  EXPECT_EQ(plugin.sprint_jobinfo(job, nullptr, 10), nullptr);
  EXPECT_EQ(text[0], '#');
  plugin.free_jobinfo(job);
}

TEST(SwitchNone, SaysNoToSchedulingDelaysAndPartialCompletion) {
  const TestHost host;
  const SwitchPlugin plugin(kFile);

  EXPECT_FALSE(plugin.no_frag());
  EXPECT_FALSE(plugin.part_comp());
  EXPECT_EQ(plugin.slurmctld_init(), 0);
  EXPECT_EQ(plugin.slurmd_init(), 0);
  EXPECT_EQ(plugin.slurmd_step_init(), 0);
  EXPECT_EQ(plugin.libstate_clear(), 0);
}

}  // namespace
}  // namespace hal::test
