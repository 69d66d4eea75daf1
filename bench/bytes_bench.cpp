// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>
#include <vector>

#include "bench/ratio_report.h"
#include "hal/bytes.h"

namespace hal::bench {
namespace {

using Crc = std::uint32_t (*)(std::span<const std::byte>, std::uint32_t) noexcept;

/// The definition, one bit at a time: the floor that both forms are measured against.
std::uint32_t crc32c_bitwise(std::span<const std::byte> bytes, std::uint32_t seed) noexcept {
  std::uint32_t crc = ~seed;
  for (const std::byte byte : bytes) {
    crc ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
  }
  return ~crc;
}

void checksum(benchmark::State& state, Crc crc, std::size_t size) {
  const std::vector<std::byte> bytes(size, std::byte{0x5a});
  for (auto _ : state) benchmark::DoNotOptimize(crc(bytes, 0));
  state.SetBytesProcessed(static_cast<std::int64_t>(size) * state.iterations());
}

constexpr std::size_t kCredential = 2104;
constexpr std::size_t kState = std::size_t{1} << 20;

BENCHMARK_CAPTURE(checksum, own, crc32c, kCredential)->Name("crc32c.2104_bytes/ours");
BENCHMARK_CAPTURE(checksum, tables, crc32c_portable, kCredential)->Name("crc32c.2104_bytes/tables");
BENCHMARK_CAPTURE(checksum, bits, crc32c_bitwise, kCredential)->Name("crc32c.2104_bytes/bitwise");
BENCHMARK_CAPTURE(checksum, own, crc32c, kState)->Name("crc32c.1_MiB/ours");
BENCHMARK_CAPTURE(checksum, tables, crc32c_portable, kState)->Name("crc32c.1_MiB/tables");

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
