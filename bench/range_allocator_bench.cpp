// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <vector>

#include "bench/ratio_report.h"
#include "hal/range_allocator.h"

namespace hal::bench {
namespace {

constexpr std::uint32_t kCapacity = 2048;

/// `live` steps of 1 to 16 numbers, each on one node of its own.
RangeAllocator busy_machine(std::uint32_t live) {
  RangeAllocator allocator(kCapacity);
  for (std::uint32_t node = 0; node < live; ++node) {
    if (!allocator.allocate(node, NodeSet({{node, node}}), 1 + node % 16)) std::abort();
  }
  return allocator;
}

/// One step on free nodes comes and goes.
void grant(benchmark::State& state, std::uint32_t live) {
  RangeAllocator allocator = busy_machine(live);
  const NodeSet nodes({{live, live + 63}});
  for (auto _ : state) {
    if (!allocator.allocate(live, nodes, 8)) std::abort();
    allocator.release(live);
  }
}

/// A step on every node, where each number is taken somewhere: the search that finds nothing.
void refuse(benchmark::State& state, std::uint32_t live) {
  RangeAllocator allocator = busy_machine(live);
  const NodeSet nodes({{0, live}});
  for (auto _ : state) benchmark::DoNotOptimize(allocator.allocate(live, nodes, 8).has_value());
}

/// The plain way: every grant is looked at for every start that it blocks.
void grant_by_scan(benchmark::State& state, std::uint32_t live) {
  const RangeAllocator allocator = busy_machine(live);
  const NodeSet nodes({{live, live + 63}});
  std::uint32_t cursor = allocator.cursor();
  for (auto _ : state) {
    std::uint32_t first = cursor;
    for (const auto& [key, held] : allocator.grants()) {
      if (held.first < first + 8 && first < held.first + held.count &&
          held.nodes.intersects(nodes)) {
        first = held.first + held.count;
      }
    }
    benchmark::DoNotOptimize(first);
    cursor = (cursor + 8) % kCapacity;
  }
}

BENCHMARK_CAPTURE(grant, few, 10U)->Name("range_allocator.grant_10_live/ours");
BENCHMARK_CAPTURE(grant, many, 10'000U)->Name("range_allocator.grant_10000_live/ours");
BENCHMARK_CAPTURE(grant_by_scan, many, 10'000U)->Name("range_allocator.grant_10000_live/scan");
BENCHMARK_CAPTURE(refuse, many, 10'000U)->Name("range_allocator.refuse_10000_live/ours");

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
