// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <vector>

namespace hal::test {
namespace {

struct PipeCloser {
  void operator()(FILE* pipe) const noexcept { ::pclose(pipe); }
};

std::vector<std::string> output_of(const std::string& command) {
  const std::unique_ptr<FILE, PipeCloser> pipe(::popen(command.c_str(), "re"));
  std::vector<std::string> lines;
  std::array<char, 4096> line{};
  while (pipe != nullptr && std::fgets(line.data(), line.size(), pipe.get()) != nullptr) {
    std::string text(line.data());
    if (!text.empty() && text.back() == '\n') text.pop_back();
    lines.push_back(std::move(text));
  }
  return lines;
}

std::set<std::string> last_words(const std::vector<std::string>& lines) {
  std::set<std::string> words;
  for (const auto& line : lines) words.insert(line.substr(line.rfind(' ') + 1));
  return words;
}

std::set<std::string> read_export_list(const std::string& family) {
  std::ifstream file(std::string(BACKPLANE_SOURCE_DIR) + "/plugins/classic/" + family + ".exports");
  std::set<std::string> names;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line[0] != '#') names.insert(line);
  }
  return names;
}

int exit_code_of(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (auto& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  char* environment[] = {nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, arguments[0], nullptr, nullptr, arguments.data(), environment) != 0) {
    return -1;
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -2;
}

class EveryFile : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static std::string path() {
    return std::string(BACKPLANE_CLASSIC_DIR) + "/" + GetParam();
  }
  [[nodiscard]] static std::string family() {
    const std::string file = GetParam();
    return file.substr(0, file.rfind('_'));
  }
};

TEST_P(EveryFile, Point1_LoadsWithImmediateBindingInAnEmptyProcess) {
  EXPECT_EQ(exit_code_of({EMPTY_PROCESS, path()}), 0);
}

TEST_P(EveryFile, Check01_ExportsTheFamilysNamesAndNothingElse) {
  const auto exported = last_words(output_of("nm -D --defined-only " + path()));

  EXPECT_EQ(exported, read_export_list(family()));
}

TEST_P(EveryFile, Point1_NeedsNothingButTheCAndCppLibraries) {
  static const std::set<std::string> kAllowed{
      "libstdc++.so.6",  "libm.so.6",  "libgcc_s.so.1",       "libc.so.6",
      "libpthread.so.0", "libdl.so.2", "ld-linux-x86-64.so.2"};
  for (const auto& line : output_of("readelf -dW " + path())) {
    if (line.find("(NEEDED)") == std::string::npos) continue;
    const auto open = line.find('[');
    const auto library = line.substr(open + 1, line.find(']') - open - 1);
    EXPECT_TRUE(kAllowed.contains(library)) << library;
  }
}

TEST_P(EveryFile, Point1_EveryUndefinedSymbolHasAVersionOfThoseLibraries) {
  for (const auto& line : output_of("nm -D --undefined-only " + path())) {
    const bool weak = line.find(" w ") != std::string::npos;
    const bool versioned = line.find("@GLIBC") != std::string::npos ||
                           line.find("@CXXABI") != std::string::npos ||
                           line.find("@GCC_") != std::string::npos;
    EXPECT_TRUE(weak || versioned) << line;
  }
}

TEST_P(EveryFile, NoUniqueSymbolStopsUnloading) {
  for (const auto& line : output_of("nm -D " + path())) {
    EXPECT_EQ(line.find(" u "), std::string::npos) << line;
  }
}

INSTANTIATE_TEST_SUITE_P(Symbols, EveryFile, testing::Values(PLUGIN_FILES), [](const auto& test) {
  return std::string(test.param).substr(0, std::string_view(test.param).size() - 3);
});

std::set<std::string> with_prefix(const std::set<std::string>& names, const std::string& prefix) {
  std::set<std::string> found;
  std::ranges::copy_if(names, std::inserter(found, found.end()),
                       [&](const std::string& name) { return name.starts_with(prefix); });
  return found;
}

TEST(ExportLists, Point2_HaveTheNamesThatTheHostsLookUp) {
  const auto proctrack = read_export_list("proctrack");

  EXPECT_EQ(with_prefix(read_export_list("switch"), "switch_p_").size(), 37U);
  EXPECT_EQ(with_prefix(proctrack, "slurm_container_plugin_").size(), 8U);
  EXPECT_EQ(with_prefix(proctrack, "proctrack_p_").size(), 8U);
  EXPECT_EQ(with_prefix(read_export_list("core_spec"), "core_spec_p_").size(), 4U);
  EXPECT_EQ(with_prefix(read_export_list("job_container"), "container_p_").size(), 10U);
  EXPECT_EQ(with_prefix(read_export_list("jobacct"), "slurm").size(), 9U);
}

TEST(ExportLists, Point2_SwitchHasEveryNameOfTheDocument) {
  std::istringstream document(
      "libstate_save libstate_restore no_frag alloc_jobinfo build_jobinfo copy_jobinfo "
      "free_jobinfo pack_jobinfo unpack_jobinfo get_jobinfo print_jobinfo sprint_jobinfo node_init "
      "node_fini job_preinit job_init job_fini job_postfini job_attach strerror get_errno "
      "clear_node_state alloc_node_info build_node_info pack_node_info unpack_node_info "
      "free_node_info sprintf_node_info job_step_complete get_data_jobinfo");
  const auto exported = read_export_list("switch");

  int count = 0;
  for (std::string name; document >> name; ++count) {
    EXPECT_TRUE(exported.contains("switch_p_" + name)) << name;
  }
  EXPECT_EQ(count, 30);
}

TEST(ExportLists, VersionIsLeftOutWhereItsDocumentMakesItOptionalAndHostsCompareIt) {
  EXPECT_FALSE(read_export_list("job_container").contains("plugin_version"));
  EXPECT_TRUE(read_export_list("switch").contains("plugin_version"));
}

}  // namespace
}  // namespace hal::test
