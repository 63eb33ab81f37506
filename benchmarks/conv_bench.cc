// Convolutions on the device: every variant that accepts them, over layers of known networks.
//
//   ./dev bench conv                                                 all of it, about two minutes
//   ./dev bench conv --benchmark_filter='f32/resnet_3x3'             one layer
//
// Names are conv/TYPE/LAYER/VARIANT. "default" is what a program gets without tuning, and its label says which variant
// that is; "product" is the twin to compare with: im2col into memory, then a matmul. Times are the device's own, of all
// steps; best_ms is the shortest. Results are compared with plain sums in double, at places all over them, before they
// are timed.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/conv/im2col.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core {
namespace {

struct Case {
  const char* name;
  Shape x, w;
  ConvOptions options;
};

const Case kCases[] = {
    {"resnet_7x7", {1, 3, 112, 112}, {64, 3, 7, 7}, {.strides = {2, 2}, .before = {3, 3}, .after = {3, 3}}},
    {"resnet_3x3", {1, 64, 56, 56}, {64, 64, 3, 3}, {.before = {1, 1}, .after = {1, 1}}},
    {"resnet_3x3_deep", {1, 256, 14, 14}, {256, 256, 3, 3}, {.before = {1, 1}, .after = {1, 1}}},
    {"resnet_1x1", {1, 256, 28, 28}, {128, 256, 1, 1}, {}},
    {"mobilenet_depthwise", {1, 144, 56, 56}, {144, 1, 3, 3}, {.before = {1, 1}, .after = {1, 1}, .groups = 144}},
    {"resnext_groups", {1, 128, 28, 28}, {128, 4, 3, 3}, {.before = {1, 1}, .after = {1, 1}, .groups = 32}},
    {"moonshine_first", {1, 1, 113600}, {288, 1, 127}, {.strides = {64}}},
    {"moonshine_second", {1, 288, 1773}, {576, 288, 7}, {.strides = {3}}},
    {"video_3x3x3", {1, 16, 8, 28, 28}, {32, 16, 3, 3, 3}, {.before = {1, 1, 1}, .after = {1, 1, 1}}},
};

Device& device() {
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

Tensor product(Tensor x, Tensor w, const Case& c) {
  const int64_t groups = c.options.groups;
  WindowOptions window = {{}, c.options.strides, c.options.dilations, c.options.before, c.options.after};
  for (int axis = 2; axis < c.w.rank(); ++axis) window.kernel.push_back(c.w[axis]);
  const Tensor columns = stored(im2col(x, window));
  const int64_t k = c.w.count(1, c.w.rank()), n = columns.shape()[2];
  return matmul(reshape(w, {groups, c.w[0] / groups, k}), reshape(columns, {c.x[0], groups, k, n}));
}

void build(Builder& g, const Case& c, DType dtype, std::string_view variant) {
  const Tensor x = g.input("x", dtype, c.x), w = g.param("w", dtype, c.w);
  g.output("y", variant == "product" ? product(x, w, c) : conv(x, w, c.options));
}

// Elements in [-1, 1] that every type holds.
std::vector<double> random_elements(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<size_t>(count));
  for (double& value : values) value = static_cast<double>(static_cast<int>(random() % 257) - 128) / 128;
  return values;
}
std::vector<uint32_t> words_of(const std::vector<double>& values, DType dtype) {
  const auto lanes = static_cast<size_t>(per_word(dtype));
  std::vector<uint32_t> words((values.size() + lanes - 1) / lanes);
  for (size_t i = 0; i < values.size(); ++i)
    words[i / lanes] |= word_of(values[i], dtype) << (lanes == 1 ? 0 : 16 * (i % lanes));
  return words;
}

std::string check(Executable<DynamicGraph>& executable, const Case& c, DType dtype, const std::vector<double>& x,
                  const std::vector<double>& w) {
  DynamicGraph graph;
  const Shape y = conv(graph->input("x", dtype, c.x), graph->input("w", dtype, c.w), c.options).shape();
  executable.run();
  std::vector<uint32_t> words(storage_bytes(dtype, y.count()) / 4);
  const Status status = executable.get_elements("y", dtype, y.count(), words.data());
  if (!status.ok()) return status.ToString();
  WindowOptions given = {{}, c.options.strides, c.options.dilations, c.options.before, c.options.after};
  for (int axis = 2; axis < c.w.rank(); ++axis) given.kernel.push_back(c.w[axis]);
  const SlidingWindow window = window_of(given, c.w.rank() - 2);
  const int64_t in = c.x.count(2, c.x.rank()), out = y.count(2, y.rank()), m = c.w[0] / c.options.groups;
  const double ulp = dtype == f32 ? 0x1p-23 : 0x1p-10;
  for (int64_t i = 0; i < y.count(); i += 1 + y.count() / 997) {
    const int64_t channel = i / out % c.w[0], image = i / out / c.w[0];
    double sum = 0;
    reference::each_tap(window, c.x, y, i % out, [&](int64_t k, int64_t at) {
      for (int64_t j = 0; j < c.w[1]; ++j) {
        sum += x[static_cast<size_t>(((image * c.options.groups + channel / m) * c.w[1] + j) * in + at)] *
               w[static_cast<size_t>((channel * c.w[1] + j) * window.taps() + k)];
      }
    });
    const auto at = static_cast<size_t>(i);
    const double got = dtype == f32
                           ? static_cast<double>(std::bit_cast<float>(words[at]))
                           : static_cast<double>(half_value(static_cast<uint16_t>(words[at / 2] >> (16 * (at % 2)))));
    if (std::fabs(got - sum) > std::fabs(sum) * ulp + static_cast<double>(c.w.count(1, c.w.rank())) * 0x1p-23) {
      return "wrong: element " + std::to_string(i) + " is " + std::to_string(got) + ", not " + std::to_string(sum);
    }
  }
  return "";
}

void BM_Conv(benchmark::State& state, const Case& c, DType dtype, std::string_view variant) {
  const std::vector<double> x = random_elements(c.x.count(), 1), w = random_elements(c.w.count(), 2);
  DynamicGraph graph;
  build(*graph, c, dtype, variant);
  DynamicOptions options;
  const Choice choices[] = {{"conv", variant}};
  if (variant != "default" && variant != "product") options.compile.choices = choices;
  options.tuned = false;
  options.sizes = Sizes::baked;
  auto executable = Executable<DynamicGraph>::create(device(), graph, options);
  if (!executable.ok()) return state.SkipWithError(executable.status().ToString());
  for (const Status& status : {executable->set_elements("x", dtype, c.x.count(), words_of(x, dtype).data()),
                               executable->set_elements("w", dtype, c.w.count(), words_of(w, dtype).data())}) {
    if (!status.ok()) return state.SkipWithError(status.ToString());
  }
  if (const std::string wrong = check(*executable, c, dtype, x, w); !wrong.empty()) return state.SkipWithError(wrong);
  if (const Status status = executable->engine().warm_up(); !status.ok()) return state.SkipWithError(status.ToString());
  double best = 0;
  std::string label;
  for (auto _ : state) {
    const auto steps = executable->engine().profile();
    if (!steps.ok()) return state.SkipWithError(steps.status().ToString());
    double seconds = 0;
    for (const StepProfile& step : *steps) seconds += step.seconds, label = step.label;
    state.SetIterationTime(seconds);
    if (best == 0 || seconds < best) best = seconds;
  }
  using benchmark::Counter;
  DynamicGraph shape;
  const Shape y = conv(shape->input("x", dtype, c.x), shape->input("w", dtype, c.w), c.options).shape();
  const double flops = 2.0 * static_cast<double>(y.count()) * static_cast<double>(c.w.count(1, c.w.rank()));
  state.counters["FLOP"] = Counter(flops, Counter::kIsIterationInvariantRate);
  state.counters["best_ms"] = best * 1e3;
  state.SetLabel(label + " on " + device().label());
}

bool accepts(std::string_view variant, const Case& c, DType dtype) {
  DynamicGraph graph;
  build(*graph, c, dtype, variant);
  const Choice choices[] = {{"conv", variant}};
  CompileOptions options;
  options.choices = choices;
  const Program program = compile(graph.graph(), device().target(), options);
  for (const Step& step : program.steps) {
    if (view_of(program, device().target()).name(step.label).ends_with("/" + std::string(variant))) return true;
  }
  return false;
}

void register_all() {
  for (const DType dtype : {f32, f16}) {
    for (const Case& c : kCases) {
      for (const std::string_view variant : {"default", "strips", "depthwise", "tiled", "plain", "product"}) {
        if (variant != "default" && variant != "product" && !accepts(variant, c, dtype)) continue;
        const std::string name = "conv/" + std::string(name_of(dtype)) + "/" + c.name + "/" + std::string(variant);
        benchmark::RegisterBenchmark(name, BM_Conv, c, dtype, variant)
            ->UseManualTime()
            ->Unit(benchmark::kMillisecond)
            ->MinTime(0.1);
      }
    }
  }
}

}  // namespace
}  // namespace rlxgpu::core

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  rlxgpu::core::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
