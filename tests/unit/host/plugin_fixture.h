// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <string>
#include <sys/stat.h>

namespace hal::host::test {

/// A directory of its own for one test, and plugin files put into it.
class TemporaryDirectory : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = std::filesystem::temp_directory_path() / "backplane-test-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = std::filesystem::canonical(name).string();
    ::setenv("PLUGIN_FIXTURE_MARKS", marks_file().c_str(), 1);
  }

  void TearDown() override {
    ::unsetenv("PLUGIN_FIXTURE_MARKS");
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] const std::string& directory() const { return directory_; }

  [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

  /// Makes a directory below the test's own.
  std::string make_directory(const std::string& name, mode_t mode = 0755) const {
    const std::string made = path(name);
    std::filesystem::create_directories(made);
    EXPECT_EQ(::chmod(made.c_str(), mode), 0);
    return made;
  }

  void write_file(const std::string& file, const std::string& text, mode_t mode = 0644) const {
    std::ofstream(file, std::ios::binary) << text;
    ASSERT_EQ(::chmod(file.c_str(), mode), 0);
  }

  /// Copies the fixture `name` ("core_spec_good") to `target`.
  void install(const std::string& name, const std::string& target, mode_t mode = 0755) const {
    std::filesystem::copy_file(LOADER_FIXTURE_DIR "/" + name + ".so", target);
    ASSERT_EQ(::chmod(target.c_str(), mode), 0);
  }

  /// Copies it into the test's own directory under its own name.
  void install(const std::string& name) const { install(name, path(name + ".so")); }

  /// What fixtures did so far: "loaded init fini unloaded ".
  [[nodiscard]] std::string marks() const {
    std::ostringstream text;
    text << std::ifstream(marks_file()).rdbuf();
    return text.str();
  }

 private:
  [[nodiscard]] std::string marks_file() const { return directory_ + "/marks"; }

  std::string directory_;
};

}  // namespace hal::host::test
