// SPDX-License-Identifier: BSD-3-Clause
//
// A launch of 16384 tasks on 1024 nodes: what building, packing and unpacking credentials costs,
// beside a plain copy of the same number of bytes. Both of a pair run on the same machine state.
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <unistd.h>

#include "backends/elan/backend.h"
#include "bench/ratio_report.h"
#include "hal/interconnect.h"

namespace {

constexpr std::size_t kWire = 2104;
constexpr std::size_t kNodes = 1024;
constexpr std::uint32_t kTasks = 16384;

class SilentHost final : public hal::Host {
 public:
  void log(hal::LogLevel, std::string_view) override {}
  std::string node_name() override { return "n0"; }
  hal::Clock& clock() override { return hal::system_clock(); }
};

/// A controller without a state directory: its file would measure the disk.
struct Launch {
  Launch() {
    std::string path = "/tmp/elan-bench-XXXXXX";
    const int fd = ::mkstemp(path.data());
    std::ofstream(path) << "eip [0-1023] n[0-1023]\n";
    ::close(fd);
    const hal::BackendConfig config("bench", {{"elanhosts", path}});
    controller = std::move(*hal::elan::backend.make_interconnect_controller({config, host}));
    codec = std::move(*hal::elan::backend.make_credential_codec({config, host}));
    if (!controller->build_credential(layout)) std::abort();
    static_cast<void>(controller->load(std::nullopt, {}));
    ::unlink(path.c_str());
  }

  /// What the plugin does to pack: the wire bytes go into the message.
  void encode(const hal::Credential& credential, std::byte* message) const {
    const auto wire = codec->encode(credential);
    std::memcpy(message, wire.data(), wire.size());
  }

  hal::Credential decode(const std::byte* message) const {
    hal::ByteReader reader(std::span(message, kWire));
    auto decoded = codec->decode(reader);
    if (!decoded) std::abort();
    return std::move(*decoded);
  }

  hal::Credential build() const {
    auto built = controller->build_credential(layout);
    if (!built) std::abort();
    return std::move(*built);
  }

  SilentHost host;
  hal::StepLayout layout = *hal::StepLayout::from_counts(*hal::NodeList::parse("n[0-1023]"), kTasks,
                                                         hal::TaskDistribution::block);
  std::unique_ptr<hal::InterconnectController> controller;
  std::unique_ptr<hal::CredentialCodec> codec;
};

void one_ours(benchmark::State& state) {
  const Launch launch;
  std::array<std::byte, kWire> message{};
  for ([[maybe_unused]] auto _ : state) {
    const hal::Credential built = launch.build();
    launch.encode(built, message.data());
    benchmark::DoNotOptimize(launch.decode(message.data()));
    // Part of the measured time: the grant must not stay.
    static_cast<void>(launch.controller->release(built));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * kWire));
}

void one_copy(benchmark::State& state) {
  std::array<std::byte, kWire> from{};
  std::array<std::byte, kWire> to{};
  for ([[maybe_unused]] auto _ : state) {
    for (int written = 0; written < 3; ++written) {
      std::memcpy(to.data(), from.data(), kWire);
      benchmark::DoNotOptimize(to.data());
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * kWire));
}

void launch_ours(benchmark::State& state) {
  const Launch launch;
  std::vector<std::byte> messages(kNodes * kWire);
  for ([[maybe_unused]] auto _ : state) {
    const hal::Credential built = launch.build();
    for (std::size_t n = 0; n < kNodes; ++n) launch.encode(built, &messages[n * kWire]);
    for (std::size_t n = 0; n < kNodes; ++n) {
      benchmark::DoNotOptimize(launch.decode(&messages[n * kWire]));
    }
    static_cast<void>(launch.controller->release(built));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * (2 * kNodes + 1) * kWire));
}

void launch_copy(benchmark::State& state) {
  std::array<std::byte, kWire> credential{};
  std::vector<std::byte> messages(kNodes * kWire);
  for ([[maybe_unused]] auto _ : state) {
    std::memcpy(&messages[0], credential.data(), kWire);
    for (std::size_t n = 0; n < kNodes; ++n) {
      std::memcpy(&messages[n * kWire], credential.data(), kWire);
      benchmark::ClobberMemory();
    }
    for (std::size_t n = 0; n < kNodes; ++n) {
      std::memcpy(credential.data(), &messages[n * kWire], kWire);
      benchmark::DoNotOptimize(credential.data());
      benchmark::ClobberMemory();
    }
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * (2 * kNodes + 1) * kWire));
}

BENCHMARK(one_ours)->Name("elan.build_encode_decode/ours");
BENCHMARK(one_copy)->Name("elan.build_encode_decode/memcpy");
BENCHMARK(launch_ours)->Name("elan.launch_1024_nodes/ours");
BENCHMARK(launch_copy)->Name("elan.launch_1024_nodes/memcpy");

}  // namespace

HAL_BENCH_MAIN()
