// A new process: from its start to the first result of a product of 512 x 512 matrices (cold_start.h).
//
//   ./dev bench cold_start
#include <algorithm>
#include <string_view>

#include "benchmark/benchmark.h"
#include "benchmarks/cold_start.h"

namespace rlxgpu::core {
namespace {

void BM_ColdStart(benchmark::State& state, const char* how) {
  if (cold_start_seconds(how) < 0) return state.SkipWithError("the process failed");
  double best = 0;
  for (auto _ : state) {
    const double seconds = cold_start_seconds(how);
    if (seconds < 0) return state.SkipWithError("the process failed");
    state.SetIterationTime(seconds);
    best = best == 0 ? seconds : std::min(best, seconds);
  }
  state.counters["best_ms"] = best * 1e3;
  state.SetLabel("goal: at most 500 ms");
}
BENCHMARK_CAPTURE(BM_ColdStart, planned, "planned")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(10);
BENCHMARK_CAPTURE(BM_ColdStart, constant, "constant")->UseManualTime()->Unit(benchmark::kMillisecond)->Iterations(10);

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == rlxgpu::core::kColdStart)
    return rlxgpu::core::cold_start_child(argv[2]);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
