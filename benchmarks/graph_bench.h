// bench_graph: times a graph on the device, after its results were compared with what its ops' references give.
//
//   benchmark::RegisterBenchmark("resize/linear", bench_graph, GraphCase{build, flops})->UseManualTime();
//
// Times are the device's own, of all steps; best_ms is the shortest. Sizes are baked; nothing is tuned.
#ifndef RLXGPU_BENCHMARKS_GRAPH_BENCH_H_
#define RLXGPU_BENCHMARKS_GRAPH_BENCH_H_

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::benchmarks {

struct GraphCase {
  std::function<void(Builder&)> build;  // f32 inputs and weights, f32 outputs
  double flops = 0;                     // that the algorithm needs
  double bytes = 0;
  double tolerance = 1e-4;  // of results about 1
  std::vector<Choice> choices = {};
};

inline Device& device() {
  static Device opened = [] {
    Result<Device> result = open_device();
    if (!result.ok()) {
      std::fprintf(stderr, "%s\n", result.status().ToString().c_str());
      std::exit(1);
    }
    return *result;
  }();
  return opened;
}

// What is wrong with the results of one run, or "".
inline std::string check_against_reference(Executable<DynamicGraph>& executable, const Graph& graph, double tolerance) {
  std::mt19937 random(1);
  reference::Arrays inputs;
  for (const Node& node : graph.nodes) {
    if (node.kind != NodeKind::input && node.kind != NodeKind::param) continue;
    const std::string name(graph.name(node.name));
    reference::Array array(f32, graph.value(node.results.first).shape);
    std::vector<float> values;
    for (double& v : array.data)
      values.push_back(static_cast<float>(v = static_cast<double>(static_cast<int>(random() % 257) - 128) / 128));
    if (const Status status = executable.set(name, values); !status.ok()) return status.ToString();
    inputs[name] = array;
  }
  executable.run();
  for (const auto& [name, expected] : reference::run(graph, inputs)) {
    const auto got = executable.get<float>(name);
    if (!got.ok()) return got.status().ToString();
    for (size_t i = 0; i < got->size(); ++i) {
      if (std::fabs((*got)[i] - expected.data[i]) <= tolerance * (1 + std::fabs(expected.data[i]))) continue;
      return "wrong: element " + std::to_string(i) + " is " + std::to_string((*got)[i]) + ", not " +
             std::to_string(expected.data[i]);
    }
  }
  return "";
}

inline void bench_graph(benchmark::State& state, const GraphCase& c) {
  DynamicGraph graph;
  c.build(*graph);
  DynamicOptions options;
  options.tuned = false;
  options.sizes = Sizes::baked;
  options.compile.choices = c.choices;
  auto executable = Executable<DynamicGraph>::create(device(), graph, options);
  if (!executable.ok()) return state.SkipWithError(executable.status().ToString());
  if (const std::string wrong = check_against_reference(*executable, graph.graph(), c.tolerance); !wrong.empty())
    return state.SkipWithError(wrong);
  if (const Status status = executable->engine().warm_up(); !status.ok()) return state.SkipWithError(status.ToString());
  double best = 0;
  size_t count = 0;
  for (auto _ : state) {
    const auto steps = executable->engine().profile();
    if (!steps.ok()) return state.SkipWithError(steps.status().ToString());
    double seconds = 0;
    for (const StepProfile& step : *steps) seconds += step.seconds;
    count = steps->size();
    state.SetIterationTime(seconds);
    if (best == 0 || seconds < best) best = seconds;
  }
  using benchmark::Counter;
  if (c.flops > 0) state.counters["FLOP"] = Counter(c.flops, Counter::kIsIterationInvariantRate);
  if (c.bytes > 0) state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(c.bytes));
  state.counters["best_ms"] = best * 1e3;
  state.counters["steps"] = static_cast<double>(count);
  state.SetLabel(device().label());
}

inline void register_graph(const std::string& name, const GraphCase& c) {
  benchmark::RegisterBenchmark(name, bench_graph, c)->UseManualTime()->Unit(benchmark::kMillisecond)->MinTime(0.1);
}

}  // namespace rlxgpu::core::benchmarks

#endif  // RLXGPU_BENCHMARKS_GRAPH_BENCH_H_
