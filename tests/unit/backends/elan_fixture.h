// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/elan/backend.h"
#include "backends/elan/capability.h"
#include "hal/interconnect.h"

namespace hal::elan::test {

/// A host whose log can be read and whose time only moves when somebody waits.
class TestHost final : public Host, public Clock {
 public:
  void log(LogLevel, std::string_view message) override {
    const std::scoped_lock lock(mutex_);
    log_.append(message).append("\n");
    if (!log_path_.empty()) std::ofstream(log_path_, std::ios::app) << message << '\n';
  }
  std::string node_name() override { return node_; }
  Clock& clock() override { return real_time_ ? system_clock() : static_cast<Clock&>(*this); }
  TimePoint now() override { return TimePoint(std::chrono::milliseconds(milliseconds_.load())); }
  void wait(std::chrono::milliseconds span) override { milliseconds_ += span.count(); }

  [[nodiscard]] std::string log_text() {
    const std::scoped_lock lock(mutex_);
    return log_;
  }
  std::string node_ = "q0";
  bool real_time_ = false;  ///< for tests that wait for processes
  std::string log_path_;    ///< a file that also gets what forked copies log

 private:
  std::mutex mutex_;
  std::string log_;
  std::atomic<std::int64_t> milliseconds_{1'000'000};
};

/// A directory of its own that goes with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = (std::filesystem::temp_directory_path() / "elan-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline void write_text(const std::string& path, std::string_view text) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
}

inline std::string read_text(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::vector<std::byte> bytes_of(std::span<const std::byte> view) {
  return {view.begin(), view.end()};
}

/// Host names, options, and roles made from them through the descriptor.
class ElanTest : public ::testing::Test {
 protected:
  ElanTest() { set_hosts("eip [0-4095] q[0-4095]\n"); }

  void set_hosts(std::string_view text) {
    write_text(directory_.file("elanhosts"), text);
    options_["elanhosts"] = directory_.file("elanhosts");
  }

  [[nodiscard]] const BackendConfig& config() {
    config_ = BackendConfig("test", options_);
    return config_;
  }

  [[nodiscard]] std::unique_ptr<InterconnectController> controller() {
    auto made = backend.make_interconnect_controller({config(), host_});
    EXPECT_TRUE(made) << made.error().detail;
    return std::move(*made);
  }

  [[nodiscard]] std::unique_ptr<CredentialCodec> codec() {
    auto made = backend.make_credential_codec({config(), host_});
    EXPECT_TRUE(made) << made.error().detail;
    return std::move(*made);
  }

  static Result<StepLayout> layout(std::string_view nodes, std::uint32_t tasks,
                                   TaskDistribution distribution = TaskDistribution::block) {
    return NodeList::parse(nodes).and_then([&](NodeList&& list) {
      return StepLayout::from_counts(std::move(list), tasks, distribution);
    });
  }

  static Result<Credential> build(InterconnectController& controller, std::string_view nodes,
                                  std::uint32_t tasks,
                                  TaskDistribution distribution = TaskDistribution::block) {
    return layout(nodes, tasks, distribution).and_then([&](StepLayout&& made) {
      return controller.build_credential(made);
    });
  }

  /// A credential that must have been built, decoded.
  static Capability fields(const Result<Credential>& credential) {
    EXPECT_TRUE(credential) << credential.error().detail;
    auto read = read_capability(*credential);
    EXPECT_TRUE(read) << read.error().detail;
    return read.value_or(Capability{});
  }

  ScratchDirectory directory_;
  TestHost host_;
  std::map<std::string, std::string, std::less<>> options_;
  BackendConfig config_;
};

}  // namespace hal::elan::test
