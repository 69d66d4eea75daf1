// SPDX-License-Identifier: BSD-3-Clause
//
// Steps of 16384 tasks on 1024 nodes, beside a plain copy of as many bytes as their credentials
// have:
//   build_encode_decode  one credential built, packed, unpacked; ending the step is off the clock
//   whole_step           the same with the grant's release and the wiping of both credentials
//   launch_1024_nodes    built once, packed and unpacked for each node, released
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <optional>
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

/// Processor time of this thread, in seconds.
double thread_time() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// What an empty interval between two calls of `thread_time` lasts.
double empty_interval() {
  constexpr int kRounds = 100'000;
  double total = 0;
  for (int i = 0; i < kRounds; ++i) {
    const double begin = thread_time();
    total += thread_time() - begin;
  }
  return total / kRounds;
}

// As many as fit the first-level cache with all their bytes.
constexpr std::size_t kBatch = 6;

/// Times `work(i)` for i below kBatch; `tidy` runs after each batch, off the clock.
template <class Work, class Tidy>
void run_batches(benchmark::State& state, Work&& work, Tidy&& tidy) {
  const double empty = empty_interval();
  while (state.KeepRunningBatch(kBatch)) {
    const double begin = thread_time();
    for (std::size_t i = 0; i < kBatch; ++i) work(i);
    state.SetIterationTime(std::max(thread_time() - begin - empty, 0.0));
    tidy();
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * kWire));
}

void one_ours(benchmark::State& state) {
  const Launch launch;
  std::array<std::byte, kWire> message{};
  std::array<std::optional<hal::Credential>, kBatch> built;
  std::array<std::optional<hal::Credential>, kBatch> decoded;
  run_batches(
      state,
      [&](std::size_t i) {
        launch.encode(built[i].emplace(launch.build()), message.data());
        decoded[i].emplace(launch.decode(message.data()));
        benchmark::ClobberMemory();
      },
      [&] {
        for (std::size_t i = 0; i < kBatch; ++i) {
          static_cast<void>(launch.controller->release(*built[i]));
          built[i].reset();
          decoded[i].reset();
        }
      });
}

void one_copy(benchmark::State& state) {
  std::array<std::byte, kWire> source{};
  std::array<std::byte, kWire> message{};
  std::array<std::array<std::byte, kWire>, kBatch> built{};
  std::array<std::array<std::byte, kWire>, kBatch> decoded{};
  const auto copy = [](auto& to, const auto& from) {
    std::memcpy(to.data(), from.data(), kWire);
    benchmark::DoNotOptimize(to.data());
    benchmark::ClobberMemory();
  };
  run_batches(
      state,
      [&](std::size_t i) {
        copy(built[i], source);
        copy(message, built[i]);
        copy(decoded[i], message);
      },
      [] {});
}

void whole_ours(benchmark::State& state) {
  const Launch launch;
  std::array<std::byte, kWire> message{};
  for ([[maybe_unused]] auto _ : state) {
    const hal::Credential built = launch.build();
    launch.encode(built, message.data());
    benchmark::DoNotOptimize(launch.decode(message.data()));
    static_cast<void>(launch.controller->release(built));
  }
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * 3 * kWire));
}

void whole_copy(benchmark::State& state) {
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

BENCHMARK(one_ours)->Name("elan.build_encode_decode/ours")->UseManualTime();
BENCHMARK(one_copy)->Name("elan.build_encode_decode/memcpy")->UseManualTime();
BENCHMARK(whole_ours)->Name("elan.whole_step/ours");
BENCHMARK(whole_copy)->Name("elan.whole_step/memcpy");
BENCHMARK(launch_ours)->Name("elan.launch_1024_nodes/ours");
BENCHMARK(launch_copy)->Name("elan.launch_1024_nodes/memcpy");

}  // namespace

HAL_BENCH_MAIN()
