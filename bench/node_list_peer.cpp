// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>
#include <cstdlib>
#include <memory>
#include <slurm/slurm.h>

#include "bench/node_list_inputs.h"

namespace hal::bench {
namespace {

struct HostlistDeleter {
  void operator()(hostlist_t list) const { slurm_hostlist_destroy(list); }
};
using Hostlist = std::unique_ptr<std::remove_pointer_t<hostlist_t>, HostlistDeleter>;

struct Free {
  void operator()(char* text) const { std::free(text); }
};
using Text = std::unique_ptr<char, Free>;

Hostlist parsed(const std::string& text) {
  Hostlist list(slurm_hostlist_create(text.c_str()));
  if (!list) std::abort();
  return list;
}

void count(benchmark::State& state, const std::string& text) {
  for (auto _ : state) benchmark::DoNotOptimize(slurm_hostlist_count(parsed(text).get()));
}

void expand(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const Hostlist list = parsed(text);
    while (const Text name{slurm_hostlist_shift(list.get())}) benchmark::DoNotOptimize(name.get());
  }
}

void compress(benchmark::State& state, const std::vector<std::string>& names) {
  for (auto _ : state) {
    const Hostlist list(slurm_hostlist_create(nullptr));
    for (const auto& name : names) slurm_hostlist_push_host(list.get(), name.c_str());
    const Text text(slurm_hostlist_ranged_string_malloc(list.get()));
    benchmark::DoNotOptimize(text.get());
  }
}

void normalize(benchmark::State& state, const std::string& text) {
  for (auto _ : state) {
    const Text ranged(slurm_hostlist_ranged_string_malloc(parsed(text).get()));
    benchmark::DoNotOptimize(ranged.get());
  }
}

void find_last(benchmark::State& state, const std::string& text, const std::string& name) {
  const Hostlist list = parsed(text);
  for (auto _ : state) {
    benchmark::DoNotOptimize(slurm_hostlist_find(list.get(), name.c_str()));
  }
}

BENCHMARK_CAPTURE(count, one, kOneRange)->Name("node_list.parse_1024/libslurm");
BENCHMARK_CAPTURE(count, dense, kDense)->Name("node_list.count/libslurm");
BENCHMARK_CAPTURE(count, sparse, sparse_text())->Name("node_list.count_sparse/libslurm");
BENCHMARK_CAPTURE(expand, dense, kDense)->Name("node_list.expand/libslurm");
BENCHMARK_CAPTURE(expand, sparse, sparse_text())->Name("node_list.expand_sparse/libslurm");
BENCHMARK_CAPTURE(compress, dense, dense_names())->Name("node_list.compress/libslurm");
BENCHMARK_CAPTURE(compress, sparse, sparse_names())->Name("node_list.compress_sparse/libslurm");
BENCHMARK_CAPTURE(normalize, dense, kDense)->Name("node_list.normalize/libslurm");
BENCHMARK_CAPTURE(normalize, sparse, sparse_text())->Name("node_list.normalize_sparse/libslurm");
BENCHMARK_CAPTURE(find_last, dense, kDense, "m49999")->Name("node_list.index/libslurm");
BENCHMARK_CAPTURE(find_last, sparse, sparse_text(), "n59999")
    ->Name("node_list.index_sparse/libslurm");

}  // namespace
}  // namespace hal::bench
