// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <dlfcn.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/classic/buffer.h"

namespace hal::test {

/// A directory of this test's own, removed at the end.
class TempDirectory {
 public:
  TempDirectory();
  ~TempDirectory();
  TempDirectory(const TempDirectory&) = delete;
  TempDirectory& operator=(const TempDirectory&) = delete;

  [[nodiscard]] std::string operator/(std::string_view name) const {
    return path_ + "/" + std::string(name);
  }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// What this program exports as `backplane_host`; restored to "nothing set" by the destructor.
class TestHost {
 public:
  explicit TestHost(int era = 4);
  ~TestHost();
  TestHost(const TestHost&) = delete;
  TestHost& operator=(const TestHost&) = delete;

  /// Counts for plugins that are initialised afterwards.
  void set_era(int era) noexcept;
  void set_node(std::string name);
  void set_config(std::string_view text);

  [[nodiscard]] const TempDirectory& directory() const noexcept { return directory_; }

  /// Lines that plugins logged since the last call.
  [[nodiscard]] static std::vector<std::string> take_log();

 private:
  TempDirectory directory_;
  std::string config_path_;
  std::string node_;
};

/// An opened plugin. Expects it to load at once and in full.
class LoadedPlugin {
 public:
  explicit LoadedPlugin(std::string_view file);
  ~LoadedPlugin();
  LoadedPlugin(const LoadedPlugin&) = delete;
  LoadedPlugin& operator=(const LoadedPlugin&) = delete;

  /// A function or object that must be there.
  template <class Pointer>
  [[nodiscard]] Pointer get(const char* name) const {
    void* address = handle_ != nullptr ? ::dlsym(handle_, name) : nullptr;
    EXPECT_NE(address, nullptr) << path_ << " lacks " << name;
    return reinterpret_cast<Pointer>(address);
  }

  [[nodiscard]] int init() const { return get<int (*)()>("init")(); }
  [[nodiscard]] int fini() const { return get<int (*)()>("fini")(); }
  [[nodiscard]] bool opened() const noexcept { return handle_ != nullptr; }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  void* handle_ = nullptr;
};

/// Blocks as the host's allocator makes them: 8 bytes (0x42, size) or 16, written down here anew so
/// that the code under test is not its own witness.
[[nodiscard]] void* host_block(std::size_t size, std::size_t header = 8);
void free_host_block(void* block, std::size_t header = 8);
[[nodiscard]] std::size_t host_block_size(const void* block, std::size_t header = 8);
[[nodiscard]] char* host_string(std::string_view text);

/// The host's message buffer.
class TestBuffer {
 public:
  explicit TestBuffer(std::uint32_t size = 4096);
  explicit TestBuffer(std::span<const std::byte> content);
  ~TestBuffer();
  TestBuffer(const TestBuffer&) = delete;
  TestBuffer& operator=(const TestBuffer&) = delete;

  [[nodiscard]] classic::HostBuffer* get() noexcept { return &buffer_; }
  [[nodiscard]] std::uint32_t processed() const noexcept { return buffer_.processed; }
  [[nodiscard]] std::vector<std::byte> content() const;
  void rewind() noexcept { buffer_.processed = 0; }

 private:
  classic::HostBuffer buffer_{};
};

/// The environment of a task, as the host's own functions make it.
class TestEnvironment {
 public:
  explicit TestEnvironment(const std::vector<std::string>& variables);
  ~TestEnvironment();
  TestEnvironment(const TestEnvironment&) = delete;
  TestEnvironment& operator=(const TestEnvironment&) = delete;

  [[nodiscard]] char*** get() noexcept { return &array_; }
  [[nodiscard]] std::vector<std::string> variables() const;

 private:
  char** array_ = nullptr;
};

}  // namespace hal::test
