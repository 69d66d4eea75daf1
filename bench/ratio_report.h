// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <benchmark/benchmark.h>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace hal::bench {

/// The usual table, and below it one line per subject that was measured beside a peer:
///   node_list.expand: ours 1.2 ms, libslurm 5.0 ms, 4.1x faster
/// A benchmark named "<subject>/ours" is compared with each "<subject>/<peer>" of the same run.
/// Processor time counts, because machines are shared, unless the benchmark has UseRealTime() or
/// UseManualTime(); of several repetitions the median.
class RatioReporter final : public benchmark::ConsoleReporter {
 public:
  RatioReporter() : ConsoleReporter(OO_Tabular) {}

  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
      const std::string& name = run.run_name.function_name;
      const auto slash = name.rfind('/');
      if (slash == std::string::npos || run.iterations == 0) continue;
      subject_of(name.substr(0, slash)).seconds[name.substr(slash + 1)].push_back(time_of(run));
    }
  }

  void Finalize() override {
    ConsoleReporter::Finalize();
    std::printf("\n");
    for (auto& subject : subjects_) print(subject);
  }

 private:
  struct Subject {
    std::string name;
    std::map<std::string, std::vector<double>> seconds;
  };

  Subject& subject_of(const std::string& name) {
    const auto found = std::ranges::find(subjects_, name, &Subject::name);
    if (found != subjects_.end()) return *found;
    return subjects_.emplace_back(Subject{name, {}});
  }

  static double time_of(const Run& run) {
    const bool real = run.run_name.time_type.find("_time") != std::string::npos &&
                      run.run_name.time_type != "process_time";
    return (real ? run.real_accumulated_time : run.cpu_accumulated_time) /
           static_cast<double>(run.iterations);
  }

  static double median(std::vector<double>& values) {
    std::ranges::sort(values);
    return values[values.size() / 2];
  }

  static std::string shown(double seconds) {
    static constexpr struct {
      double unit;
      const char* name;
    } kUnits[] = {{1.0, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    const auto* unit = std::ranges::find_if(
        kUnits, [&](const auto& candidate) { return seconds >= candidate.unit; });
    if (unit == std::end(kUnits)) --unit;
    char text[48];
    std::snprintf(text, sizeof text, "%.3g %s", seconds / unit->unit, unit->name);
    return text;
  }

  static void print(Subject& subject) {
    const auto own = subject.seconds.find("ours");
    if (own == subject.seconds.end()) return;
    const double ours = median(own->second);
    if (subject.seconds.size() == 1) {
      std::printf("%s: ours %s\n", subject.name.c_str(), shown(ours).c_str());
    }
    for (auto& [peer, values] : subject.seconds) {
      if (peer == "ours") continue;
      const double theirs = median(values);
      std::printf("%s: ours %s, %s %s, %.2gx %s\n", subject.name.c_str(), shown(ours).c_str(),
                  peer.c_str(), shown(theirs).c_str(), std::max(theirs / ours, ours / theirs),
                  theirs >= ours ? "faster" : "slower");
    }
  }

  std::vector<Subject> subjects_;
};

/// Body of a benchmark program's main.
inline int run_with_ratios(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  RatioReporter reporter;
  benchmark::RunSpecifiedBenchmarks(&reporter);
  benchmark::Shutdown();
  return 0;
}

}  // namespace hal::bench

/// Use once, at file scope, instead of BENCHMARK_MAIN().
#define HAL_BENCH_MAIN() \
  int main(int argc, char** argv) { return hal::bench::run_with_ratios(argc, argv); }
