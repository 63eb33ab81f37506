// What rlxgpu costs at compile time: seconds and megabytes of whole compilations, with each compiler that is here.
//
//   ./dev bench compile_time                                          about five minutes
//   ./dev bench compile_time --benchmark_filter=g.._12/O0 --runs=1    fewer, and once each
//
// The time of a case is the best of its runs. The bounds of docs/architecture.md count from a file that only includes
// webgpu_cpp.h; the table at the end says which cases keep them.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "rlxgpu/tools/process.h"

namespace {

struct Case {
  std::string_view name, file;
  std::vector<std::string> options = {};
  double bound = 0;  // seconds over the baseline; 0: none
};

const Case kCases[] = {
    {"baseline/O0", "baseline"},
    {"umbrella/O0", "umbrella"},
    {"matmul/O0", "matmul", {}, 1.5},
    {"encoder_1/O0", "encoder", {"-DLAYERS=1"}},
    {"encoder_12/O0", "encoder", {"-DLAYERS=12"}, 4.0},
    {"encoder_24/O0", "encoder", {"-DLAYERS=24"}, 4.0},
    {"encoder_24/O2", "encoder", {"-DLAYERS=24", "-O2"}, 8.0},
    {"encoder_96/O0", "encoder", {"-DLAYERS=96"}},
    {"llama_24/O0", "llama", {"-DLAYERS=24"}},
    {"llama_96/O0", "llama", {"-DLAYERS=96"}},
    {"mixed_5000/O0", "mixed", {"-DROUNDS=180", "-DLOOPS=0"}},
    {"loop_1000/O0", "mixed", {"-DROUNDS=0", "-DLOOPS=250"}},
};
constexpr std::string_view kCompilers[] = {"g++", "clang++"};

struct Cost {
  double seconds = 0, megabytes = 0;
};

int runs = 3;
std::map<std::string, Cost, std::less<>> costs;  // by "compiler/case"

std::string key_of(std::string_view compiler, std::string_view name) {
  return std::string(compiler) + "/" + std::string(name);
}

void BM_Compile(benchmark::State& state, std::string_view compiler, const Case& what) {
  std::vector<std::string> command = {std::string(compiler),
                                      "-std=c++20",
                                      "-I",
                                      ".",
                                      "-c",
                                      "-o",
                                      "/dev/null",
                                      "benchmarks/compile_time/" + std::string(what.file) + ".cc"};
  command.insert(command.end(), what.options.begin(), what.options.end());
  Cost best;
  for (auto _ : state) {
    const rlxgpu::core::tools::ProcessResult result = rlxgpu::core::tools::run_process(command);
    if (result.exit_code != 0) return state.SkipWithError(result.output);
    state.SetIterationTime(result.seconds);
    // Processor time: what others do on the machine meanwhile does not count.
    if (best.seconds == 0 || result.cpu_seconds < best.seconds) best = {result.cpu_seconds, result.peak_megabytes};
  }
  costs[key_of(compiler, what.name)] = best;
  state.counters["best_cpu_s"] = best.seconds;
  state.counters["MB"] = best.megabytes;
}

void print_table() {
  std::printf("\n%-10s%-14s%9s%8s%15s%8s\n", "compiler", "case", "seconds", "MB", "over baseline", "bound");
  for (const std::string_view compiler : kCompilers) {
    const auto baseline = costs.find(key_of(compiler, "baseline/O0"));
    for (const Case& what : kCases) {
      const auto found = costs.find(key_of(compiler, what.name));
      if (found == costs.end()) continue;
      std::printf("%-10s%-14s%9.2f%8.0f", std::string(compiler).c_str(), std::string(what.name).c_str(),
                  found->second.seconds, found->second.megabytes);
      if (baseline != costs.end() && what.file != "baseline") {
        const double over = found->second.seconds - baseline->second.seconds;
        std::printf("%15.2f", over);
        if (what.bound > 0) std::printf("%8.1f  %s", what.bound, over > what.bound ? "OVER BOUND" : "kept");
      }
      std::printf("\n");
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with("--runs=")) {
      runs = std::max(1, std::atoi(argument.substr(7).data()));
    } else {
      std::fprintf(stderr, "unknown argument %s; there are --runs=N and those of Google Benchmark\n", argv[i]);
      return 2;
    }
  }
  for (const std::string_view compiler : kCompilers) {
    if (rlxgpu::core::tools::run_process({std::string(compiler), "--version"}).exit_code != 0) continue;
    for (const Case& what : kCases) {
      benchmark::RegisterBenchmark(key_of(compiler, what.name).c_str(), BM_Compile, compiler, what)
          ->UseManualTime()
          ->Unit(benchmark::kSecond)
          ->Iterations(runs);
    }
  }
  benchmark::RunSpecifiedBenchmarks();
  print_table();
}
