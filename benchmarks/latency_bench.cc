// What the library costs on top of Dawn: each row against the same by hand with webgpu_cpp, in turn, on one device.
//
//   ./dev bench latency
//
// one_run: set, run and get of a graph with one add and a scalar result. in_flight: the same 100 times before the first
// result is read, per run. encode: the host's time for one run of a 12-layer encoder, without waiting for it, against
// as many calls of SetPipeline, SetBindGroup and DispatchWorkgroups with a submit. bind: two executables, the output of
// one bound as the input of the next, against one executable of both. Every iteration takes both sides once, in
// changing order. Times are of the wall clock; `ratio` is of the medians, `best_ratio` of the shortest ones, and
// `cpu_ratio` of the processor's time, driver included. By hand: everything that can be made once is made once, one
// submit, one mapped staging buffer a run.
#include <webgpu/webgpu_cpp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "benchmark/benchmark.h"
#include "docs/examples/encoder.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/interop.h"

namespace rlxgpu::core {
namespace {

void check(const Status& status) {
  if (status.ok()) return;
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  std::exit(1);
}
void check(bool right) {
  if (!right) check(invalid_argument("a result is wrong"));
}

const Device& device() {
  static const Device opened = [] {
    Result<Device> result = open_device();
    check(result.status());
    return *result;
  }();
  return opened;
}

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Both sides once in each iteration, each timed by itself.
void compare(
    benchmark::State& state, double per, const std::function<void()>& ours, const std::function<void()>& by_hand,
    const std::function<void()>& between = [] {}) {
  std::vector<double> times[2];
  double processor[2] = {};
  const std::function<void()>* const sides[2] = {&ours, &by_hand};
  for (int i = 0; i < 5; ++i) ours(), between(), by_hand(), between();  // kernels are compiled
  int turn = 0;
  for (auto _ : state) {
    for (int i = 0; i < 2; ++i) {
      const int side = (i + turn) % 2;
      const std::clock_t processor_begin = std::clock();
      const double begin = now();
      (*sides[side])();
      times[side].push_back((now() - begin) / per);
      processor[side] += static_cast<double>(std::clock() - processor_begin);
      between();
    }
    ++turn;
    state.SetIterationTime(times[0].back());
  }
  for (auto& side : times) std::sort(side.begin(), side.end());
  const auto median = [&](int side) { return times[side][times[side].size() / 2]; };
  state.counters["us"] = median(0) * 1e6;
  state.counters["by_hand_us"] = median(1) * 1e6;
  state.counters["ratio"] = median(0) / median(1);
  state.counters["cpu_ratio"] = processor[0] / processor[1];
  state.counters["best_ratio"] = times[0].front() / times[1].front();
  state.SetLabel(device().label());
}

// One kernel of the caller's with its buffers, by hand.
struct ByHand {
  wgpu::Instance instance = native_instance(device());
  wgpu::Device gpu = native_device(device());
  wgpu::Queue queue = native_queue(device());
  wgpu::Buffer a, b, y;
  wgpu::ComputePipeline pipeline;
  wgpu::BindGroup group;

  wgpu::Buffer buffer(uint64_t bytes, wgpu::BufferUsage usage) const {
    wgpu::BufferDescriptor descriptor{};
    descriptor.size = bytes;
    descriptor.usage = usage;
    return gpu.CreateBuffer(&descriptor);
  }
  wgpu::Buffer staging() const { return buffer(16, wgpu::BufferUsage::MapRead | wgpu::BufferUsage::CopyDst); }

  ByHand() {
    const auto storage = wgpu::BufferUsage::Storage | wgpu::BufferUsage::CopyDst | wgpu::BufferUsage::CopySrc;
    a = buffer(16, storage), b = buffer(16, storage), y = buffer(16, storage);
    wgpu::ShaderSourceWGSL source{};
    source.code = R"(
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3u) {
  if (id.x == 0u) { y[0] = a[0] + b[0]; }
})";
    wgpu::ShaderModuleDescriptor module{};
    module.nextInChain = &source;
    wgpu::ComputePipelineDescriptor descriptor{};
    descriptor.compute.module = gpu.CreateShaderModule(&module);
    pipeline = gpu.CreateComputePipeline(&descriptor);
    wgpu::BindGroupEntry entries[3];
    for (uint32_t i = 0; i < 3; ++i) entries[i].binding = i;
    entries[0].buffer = a, entries[1].buffer = b, entries[2].buffer = y;
    wgpu::BindGroupDescriptor bound{};
    bound.layout = pipeline.GetBindGroupLayout(0);
    bound.entryCount = 3;
    bound.entries = entries;
    group = gpu.CreateBindGroup(&bound);
  }

  wgpu::Future start(float left, float right, const wgpu::Buffer& to) const {
    queue.WriteBuffer(a, 0, &left, 4);
    queue.WriteBuffer(b, 0, &right, 4);
    const wgpu::CommandEncoder encoder = gpu.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = encoder.BeginComputePass();
    pass.SetPipeline(pipeline);
    pass.SetBindGroup(0, group);
    pass.DispatchWorkgroups(1);
    pass.End();
    encoder.CopyBufferToBuffer(y, 0, to, 0, 4);
    const wgpu::CommandBuffer commands = encoder.Finish();
    queue.Submit(1, &commands);
    return to.MapAsync(wgpu::MapMode::Read, 0, 8, wgpu::CallbackMode::WaitAnyOnly,
                       [](wgpu::MapAsyncStatus, wgpu::StringView) {});
  }
  float finish(wgpu::Future future, const wgpu::Buffer& from) const {
    instance.WaitAny(future, UINT64_MAX);
    float result = 0;
    std::memcpy(&result, from.GetConstMappedRange(0, 4), 4);
    from.Unmap();
    return result;
  }
};

struct Add {
  static constexpr void build(Builder& g) { g.output("y", g.input("a", f32, {1}) + g.input("b", f32, {1})); }
};

void BM_OneRun(benchmark::State& state) {
  Executable<Add> add(device());
  const ByHand by_hand;
  const wgpu::Buffer staging = by_hand.staging();
  float x = 0;
  const auto ours = [&] {
    x += 1;
    add.set<"a">(std::array{x});
    add.set<"b">(std::array{1.0f});
    add.run();
    const auto y = add.get<"y">();
    check(y.status());
    check((*y)[0] == x + 1);
  };
  const auto hand = [&] {
    x += 1;
    check(by_hand.finish(by_hand.start(x, 1, staging), staging) == x + 1);
  };
  compare(state, 1, ours, hand);
}
BENCHMARK(BM_OneRun)->Name("one_run")->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(1000);

void BM_InFlight(benchmark::State& state) {
  constexpr size_t kRuns = 100;
  Executable<Add> add(device());
  const ByHand by_hand;
  std::vector<wgpu::Buffer> staging;
  for (size_t i = 0; i < kRuns; ++i) staging.push_back(by_hand.staging());
  std::vector<Executable<Add>::TypedRun> runs(kRuns);
  std::vector<wgpu::Future> futures(kRuns);
  const auto ours = [&] {
    for (size_t i = 0; i < kRuns; ++i) {
      add.set<"a">(std::array{static_cast<float>(i)});
      add.set<"b">(std::array{1.0f});
      runs[i] = add.run({.read = true});
    }
    for (size_t i = 0; i < kRuns; ++i) {
      const auto y = runs[i].get<"y">();
      check(y.status());
      check((*y)[0] == static_cast<float>(i) + 1);
      runs[i] = {};
    }
  };
  const auto hand = [&] {
    for (size_t i = 0; i < kRuns; ++i) futures[i] = by_hand.start(static_cast<float>(i), 1, staging[i]);
    for (size_t i = 0; i < kRuns; ++i) check(by_hand.finish(futures[i], staging[i]) == static_cast<float>(i) + 1);
  };
  compare(state, kRuns, ours, hand);
}
BENCHMARK(BM_InFlight)->Name("in_flight")->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(50);

using Encoder = examples::Encoder<examples::EncoderSize{.layers = 12, .rows = 16, .width = 48, .heads = 12}>;

void BM_Encode(benchmark::State& state) {
  Executable<Encoder, kPortable> encoder(device(), {.zero_inputs = true});
  for (const Port& port : encoder.program.ports) {
    if (port.role != BufferRole::param) continue;
    const TensorDecl& tensor = encoder.program.tensors[static_cast<size_t>(port.tensor)];
    const std::vector<float> zeros(static_cast<size_t>(tensor.shape.count()));
    check(encoder.engine().weights().set(encoder.program.name(port.name), f32, tensor.shape,
                                         std::as_bytes(std::span(zeros))));
  }
  // The bare loop has as many dispatches, with bind groups of three buffers, as most steps have, from a few pipelines.
  const ByHand by_hand;
  std::vector<std::unique_ptr<ByHand>> kernels;
  for (int i = 0; i < 8; ++i) kernels.push_back(std::make_unique<ByHand>());
  const size_t dispatches = encoder.program.steps.size();
  Run run;
  const auto ours = [&] { run = encoder.run(); };
  const auto hand = [&] {
    const wgpu::CommandEncoder commands = by_hand.gpu.CreateCommandEncoder();
    const wgpu::ComputePassEncoder pass = commands.BeginComputePass();
    for (size_t i = 0; i < dispatches; ++i) {
      pass.SetPipeline(kernels[i % 8]->pipeline);
      pass.SetBindGroup(0, kernels[i % 8]->group);
      pass.DispatchWorkgroups(1);
    }
    pass.End();
    const wgpu::CommandBuffer buffer = commands.Finish();
    by_hand.queue.Submit(1, &buffer);
  };
  compare(state, 1, ours, hand, [&] {
    check(run.wait());
    check(device().wait_idle());
  });
  state.counters["dispatches"] = static_cast<double>(dispatches);
}
BENCHMARK(BM_Encode)->Name("encode")->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(200);

constexpr int kRows = 64, kWidth = 256;
constexpr Tensor layer(Builder& g, Tensor x, std::string_view name) {
  return matmul(x, g.param(name, f32, {kWidth, kWidth}));
}
struct First {
  static constexpr void build(Builder& g) { g.output("h", layer(g, g.input("x", f32, {kRows, kWidth}), "w0")); }
};
struct Second {
  static constexpr void build(Builder& g) { g.output("y", layer(g, g.input("h", f32, {kRows, kWidth}), "w1")); }
};
struct Both {
  static constexpr void build(Builder& g) {
    g.output("y", layer(g, layer(g, g.input("x", f32, {kRows, kWidth}), "w0"), "w1"));
  }
};

void BM_Bind(benchmark::State& state) {
  Executable<First> first(device());
  Executable<Second> second(device());
  Executable<Both> both(device());
  const std::vector<float> w(kWidth * kWidth, 1.0f / kWidth), x(kRows * kWidth, 3.0f);
  first.set<"w0">(w), second.set<"w1">(w), both.set<"w0">(w), both.set<"w1">(w);
  Result<DeviceTensor> between = DeviceTensor::create(device(), f32, {kRows, kWidth});
  check(between.status());
  first.bind<"h">(*between);
  second.bind<"h">(*between);
  const auto read = [&](auto& executable) {
    const auto y = executable.template get<"y">();
    check(y.status());
    check((*y)[17] > 2.99f && (*y)[17] < 3.01f);
  };
  const auto ours = [&] {
    first.set<"x">(x);
    first.run();
    second.run();
    read(second);
  };
  const auto as_one = [&] {
    both.set<"x">(x);
    both.run();
    read(both);
  };
  compare(state, 1, ours, as_one);
}
BENCHMARK(BM_Bind)->Name("bind")->UseManualTime()->Unit(benchmark::kMicrosecond)->Iterations(500);

}  // namespace
}  // namespace rlxgpu::core

BENCHMARK_MAIN();
