// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>
#include <cstdlib>

#include "bench/node_list_inputs.h"
#include "bench/ratio_report.h"
#include "hal/node_list.h"
#include "hal/step_layout.h"

namespace hal::bench {
namespace {

NodeList parsed(const std::string& text) {
  auto list = NodeList::parse(text);
  if (!list) std::abort();
  return *std::move(list);
}

void count(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(parsed(text).size());
}

/// From text to every name, each an own string.
void expand(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(parsed(text).expand().data());
}

/// From names to the ranged text.
void compress(benchmark::State& state, const std::vector<std::string>& names) {
  for (auto _ : state) benchmark::DoNotOptimize(NodeList::from_names(names).ranged().data());
}

/// From text to the ranged text.
void normalize(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(parsed(text).ranged().data());
}

void find_last(benchmark::State& state, const std::string& text, const std::string& name) {
  const NodeList list = parsed(text);
  for (auto _ : state) benchmark::DoNotOptimize(list.index_of(name));
}

void at_last(benchmark::State& state) {
  const NodeList list = parsed("n[0-99999]");
  for (auto _ : state) benchmark::DoNotOptimize(list.at(99'999).data());
}

void layout(benchmark::State& state) {
  const NodeList list = parsed(kOneRange);
  for (auto _ : state) {
    const auto made = StepLayout::from_counts(list, 16'384, TaskDistribution::cyclic);
    benchmark::DoNotOptimize(made->rank_of(1000, 3));
  }
}

BENCHMARK_CAPTURE(count, one, kOneRange)->Name("node_list.parse_1024/ours");
BENCHMARK_CAPTURE(count, dense, kDense)->Name("node_list.count/ours");
BENCHMARK_CAPTURE(count, sparse, sparse_text())->Name("node_list.count_sparse/ours");
BENCHMARK_CAPTURE(expand, dense, kDense)->Name("node_list.expand/ours");
BENCHMARK_CAPTURE(expand, sparse, sparse_text())->Name("node_list.expand_sparse/ours");
BENCHMARK_CAPTURE(compress, dense, dense_names())->Name("node_list.compress/ours");
BENCHMARK_CAPTURE(compress, sparse, sparse_names())->Name("node_list.compress_sparse/ours");
BENCHMARK_CAPTURE(normalize, dense, kDense)->Name("node_list.normalize/ours");
BENCHMARK_CAPTURE(normalize, sparse, sparse_text())->Name("node_list.normalize_sparse/ours");
BENCHMARK_CAPTURE(find_last, dense, kDense, "m49999")->Name("node_list.index/ours");
BENCHMARK_CAPTURE(find_last, sparse, sparse_text(), "n59999")->Name("node_list.index_sparse/ours");
BENCHMARK(at_last)->Name("node_list.at_100000/ours");
BENCHMARK(layout)->Name("step_layout.from_counts_1024/ours");

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
