// SPDX-License-Identifier: BSD-3-Clause
#include <benchmark/benchmark.h>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>

#include "bench/ratio_report.h"

namespace hal::bench {
namespace {

/// A function of an opened library; ends the program, with the reason, when there is none.
template <class Function>
Function function_of(const std::string& path, const char* name) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto* function = library != nullptr ? ::dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "plugin_call_bench: %s\n", ::dlerror());
    std::exit(1);
  }
  return reinterpret_cast<Function>(function);
}

const std::string kSwitch = std::string(BACKPLANE_CLASSIC_DIR) + "/switch_none.so";
const std::string kCoreSpec = std::string(BACKPLANE_CLASSIC_DIR) + "/core_spec_none.so";

/// The floor: a function of a shared object that only answers 0, called as hosts call plugins.
void bare(benchmark::State& state) {
  auto* function = function_of<int (*)(void*)>(BARE_LIBRARY, "bare_call");
  for (auto _ : state) benchmark::DoNotOptimize(function(&state));
}

/// Face, handle check, service, backend role and back, with nothing to do at the end of it.
void job_fini(benchmark::State& state) {
  auto* allocate = function_of<int (*)(void**)>(kSwitch, "switch_p_alloc_jobinfo");
  auto* function = function_of<int (*)(void*)>(kSwitch, "switch_p_job_fini");
  void* job = nullptr;
  if (allocate(&job) != 0) return state.SkipWithError("alloc_jobinfo failed");
  for (auto _ : state) benchmark::DoNotOptimize(function(job));
}

/// Face, service and backend role, without a handle.
void core_spec_clear(benchmark::State& state) {
  auto* function = function_of<int (*)(std::uint64_t)>(kCoreSpec, "core_spec_p_clear");
  for (auto _ : state) benchmark::DoNotOptimize(function(5));
}

/// Opening a plugin, init, fini and closing it: what each start of a step process pays.
void load(benchmark::State& state, const std::string& path) {
  for (auto _ : state) {
    void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return state.SkipWithError(::dlerror());
    auto* init = reinterpret_cast<int (*)()>(::dlsym(library, "init"));
    auto* fini = reinterpret_cast<int (*)()>(::dlsym(library, "fini"));
    if (init() != 0) return state.SkipWithError("init failed");
    fini();
    ::dlclose(library);
  }
}

BENCHMARK(job_fini)->Name("plugin_call.job_fini/ours");
BENCHMARK(bare)->Name("plugin_call.job_fini/bare_function");
BENCHMARK(core_spec_clear)->Name("plugin_call.core_spec_clear/ours");
BENCHMARK(bare)->Name("plugin_call.core_spec_clear/bare_function");
// Both other files stay open meanwhile, so this one is closed and opened for real.
BENCHMARK_CAPTURE(load, jobacct, std::string(BACKPLANE_CLASSIC_DIR) + "/jobacct_none.so")
    ->Name("plugin_load.jobacct_none/ours");
BENCHMARK_CAPTURE(load, elan, std::string(BACKPLANE_CLASSIC_DIR) + "/switch_elan.so")
    ->Name("plugin_load.switch_elan/ours");

}  // namespace
}  // namespace hal::bench

HAL_BENCH_MAIN()
