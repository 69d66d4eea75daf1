// SPDX-License-Identifier: BSD-3-Clause
#include "tests/unit/plugins/test_host.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <mutex>
#include <unistd.h>

#include "hal/host_abi.h"

extern "C" {
__attribute__((visibility("default"), used)) struct backplane_host backplane_host = {
    sizeof(struct backplane_host), 4, nullptr, nullptr, nullptr};
}

namespace hal::test {
namespace {

std::mutex log_mutex;
std::vector<std::string> log_lines;

void log_line(std::int32_t, const char* text) {
  const std::lock_guard lock(log_mutex);
  log_lines.emplace_back(text);
}

}  // namespace

TempDirectory::TempDirectory() {
  // Memory where there is some: state files are synced, which costs disks milliseconds.
  const bool memory = ::access("/dev/shm", W_OK) == 0;
  const auto parent =
      memory ? std::filesystem::path("/dev/shm") : std::filesystem::temp_directory_path();
  std::string name = (parent / "plugins_test.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) std::abort();
  path_ = name;
}

TempDirectory::~TempDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

TestHost::TestHost(int era) : config_path_(directory_ / "hal.conf") {
  (void)take_log();
  ::backplane_host.hal_conf = config_path_.c_str();
  ::backplane_host.log = log_line;
  set_era(era);
  set_node("n0");
}

TestHost::~TestHost() {
  ::backplane_host = {sizeof(struct backplane_host), 4, nullptr, nullptr, nullptr};
  ::unsetenv("SLURMD_NODENAME");
}

void TestHost::set_era(int era) noexcept { ::backplane_host.switch_era = era; }

void TestHost::set_node(std::string name) {
  node_ = std::move(name);
  ::backplane_host.node_name = node_.c_str();
  ::setenv("SLURMD_NODENAME", node_.c_str(), 1);
}

void TestHost::set_config(std::string_view text) {
  std::ofstream(config_path_) << text;
  std::filesystem::permissions(config_path_, std::filesystem::perms(0600));
}

std::vector<std::string> TestHost::take_log() {
  const std::lock_guard lock(log_mutex);
  return std::exchange(log_lines, {});
}

LoadedPlugin::LoadedPlugin(std::string_view file)
    : path_(std::string(BACKPLANE_CLASSIC_DIR) + "/" + std::string(file)),
      handle_(::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) ADD_FAILURE() << ::dlerror();
}

LoadedPlugin::~LoadedPlugin() {
  if (handle_ == nullptr) return;
  if (auto* fini = reinterpret_cast<int (*)()>(::dlsym(handle_, "fini")); fini != nullptr) fini();
  ::dlclose(handle_);
}

void* host_block(std::size_t size, std::size_t header) {
  auto* base = static_cast<std::byte*>(std::calloc(1, header + size));
  if (base == nullptr) std::abort();
  if (header == 8) {
    const std::uint32_t words[2] = {0x42, static_cast<std::uint32_t>(size)};
    std::memcpy(base, words, sizeof words);
  } else {
    const std::uint64_t words[2] = {0x42, size};
    std::memcpy(base, words, sizeof words);
  }
  return base + header;
}

void free_host_block(void* block, std::size_t header) {
  if (block != nullptr) std::free(static_cast<std::byte*>(block) - header);
}

std::size_t host_block_size(const void* block, std::size_t header) {
  const auto* base = static_cast<const std::byte*>(block) - header;
  if (header == 8) {
    std::uint32_t words[2];
    std::memcpy(words, base, sizeof words);
    EXPECT_EQ(words[0], 0x42U);
    return words[1];
  }
  std::uint64_t words[2];
  std::memcpy(words, base, sizeof words);
  EXPECT_EQ(words[0], 0x42U);
  return words[1];
}

char* host_string(std::string_view text) {
  auto* copy = static_cast<char*>(host_block(text.size() + 1));
  if (!text.empty()) std::memcpy(copy, text.data(), text.size());
  return copy;
}

TestBuffer::TestBuffer(std::uint32_t size)
    : buffer_{classic::kBufferMagic, static_cast<char*>(host_block(size)), size, 0} {}

TestBuffer::TestBuffer(std::span<const std::byte> content)
    : TestBuffer(static_cast<std::uint32_t>(content.size())) {
  if (!content.empty()) std::memcpy(buffer_.head, content.data(), content.size());
}

TestBuffer::~TestBuffer() { free_host_block(buffer_.head); }

std::vector<std::byte> TestBuffer::content() const {
  const auto* bytes = reinterpret_cast<const std::byte*>(buffer_.head);
  return {bytes, bytes + buffer_.processed};
}

TestEnvironment::TestEnvironment(const std::vector<std::string>& variables)
    : array_(static_cast<char**>(host_block((variables.size() + 1) * sizeof(char*)))) {
  for (std::size_t i = 0; i < variables.size(); ++i) array_[i] = host_string(variables[i]);
}

TestEnvironment::~TestEnvironment() {
  for (char** entry = array_; *entry != nullptr; ++entry) free_host_block(*entry);
  free_host_block(array_);
}

std::vector<std::string> TestEnvironment::variables() const {
  std::vector<std::string> list;
  for (char** entry = array_; *entry != nullptr; ++entry) list.emplace_back(*entry);
  return list;
}

}  // namespace hal::test
