// SPDX-License-Identifier: BSD-3-Clause
#include "tests/conformance/interconnect_suite.h"

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <gmock/gmock.h>
#include <sys/stat.h>

namespace hal::conformance {

Clock::TimePoint FastClock::now() {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(skipped_.load());
}

void FastClock::wait(std::chrono::milliseconds span) {
  const timespec breath{0, 1000000};  // lets a killed process end
  ::nanosleep(&breath, nullptr);
  skipped_ += span.count();
}

void TestHost::log(LogLevel level, std::string_view message) {
  if (level == LogLevel::error) ::testing::Test::RecordProperty("log", std::string(message));
}

void InterconnectSuite::SetUp() {
  root_ = ::testing::TempDir() + "hal-conformance-XXXXXX";
  ASSERT_NE(::mkdtemp(root_.data()), nullptr);
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);  // tasks of other users pass through
  under_.set_up(directory("device"));
  const BackendContext context{under_.config, host_};
  ASSERT_NE(under_.descriptor->make_credential_codec, nullptr) << "no codec, no interconnect";
  auto codec = under_.descriptor->make_credential_codec(context);
  ASSERT_TRUE(codec) << codec.error().detail;
  codec_ = std::move(*codec);
  enter_node(0);
}

void InterconnectSuite::TearDown() {
  EXPECT_THAT(lasting_leaks(), ::testing::IsEmpty());
  std::filesystem::remove_all(root_);
}

std::unique_ptr<InterconnectController> InterconnectSuite::make_controller() {
  const BackendContext context{under_.config, host_};
  if (under_.descriptor->make_interconnect_controller == nullptr) return nullptr;
  auto made = under_.descriptor->make_interconnect_controller(context);
  EXPECT_TRUE(made) << made.error().detail;
  return made ? std::move(*made) : nullptr;
}

std::unique_ptr<InterconnectNode> InterconnectSuite::make_node() {
  const BackendContext context{under_.config, host_};
  if (under_.descriptor->make_interconnect_node == nullptr) return nullptr;
  auto made = under_.descriptor->make_interconnect_node(context);
  EXPECT_TRUE(made) << made.error().detail;
  return made ? std::move(*made) : nullptr;
}

void InterconnectSuite::enter_node(std::size_t index) {
  host_.node = nodes().at(index);
  under_.enter_node(host_.node);
}

NodeList InterconnectSuite::nodes() const {
  auto list = NodeList::parse(traits().nodes);
  return list ? std::move(*list) : NodeList();
}

StepLayout InterconnectSuite::layout(std::size_t node_count, std::uint32_t tasks,
                                     std::size_t first_node) const {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < node_count; ++i) names.push_back(nodes().at(first_node + i));
  auto made = StepLayout::from_counts(NodeList::from_names(names), tasks, TaskDistribution::block);
  if (!made) std::abort();
  return std::move(*made);
}

Credential InterconnectSuite::build(InterconnectController& controller, std::size_t node_count,
                                    std::uint32_t tasks, std::size_t first_node) {
  auto built = controller.build_credential(layout(node_count, tasks, first_node));
  EXPECT_TRUE(built) << built.error().detail;
  return built ? std::move(*built) : Credential();
}

Credential InterconnectSuite::transport(const Credential& credential) const {
  ByteReader reader(codec_->encode(credential));
  auto decoded = codec_->decode(reader);
  EXPECT_TRUE(decoded) << decoded.error().detail;
  return decoded ? std::move(*decoded) : Credential();
}

std::uint32_t InterconnectSuite::fill(InterconnectController& controller,
                                      std::vector<Credential>* granted) {
  std::uint32_t total = 0;
  for (std::uint32_t size = 256; size > 0; size /= 4) {  // ends with 1: no gap stays
    for (;;) {
      auto built = controller.build_credential(layout(1, size));
      if (!built) {
        EXPECT_EQ(built.error().kind, Errc::exhausted) << built.error().detail;
        break;
      }
      total += size;
      if (granted != nullptr) granted->push_back(std::move(*built));
    }
  }
  return total;
}

std::vector<std::string> InterconnectSuite::lasting_leaks() const {
  constexpr std::chrono::seconds kPatience{10};
  const timespec breath{0, 2000000};
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    std::vector<std::string> left = under_.leaks();
    if (left.empty() || std::chrono::steady_clock::now() > deadline) return left;
    ::nanosleep(&breath, nullptr);
  }
}

std::string InterconnectSuite::directory(const std::string& name) {
  const std::string path = root_ + "/" + name;
  std::filesystem::create_directory(path);
  return path;
}

}  // namespace hal::conformance
