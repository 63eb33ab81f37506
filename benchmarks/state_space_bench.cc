// selective_scan, mamba2 and gated_delta_net on the device.
//
//   ./dev bench state_space
//
// state_space/OP/TIMExHEADSxWIDTHxN/VARIANT; "maps" (selective_scan) is the same as a graph of maps and a sum for each
// step, of the shortest time only.
#include <string>
#include <string_view>

#include "benchmark/benchmark.h"
#include "benchmarks/graph_bench.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/state_space/state_space.h"

namespace rlxgpu::core::benchmarks {
namespace {

struct Case {
  int64_t time, heads, width, n;
};
const Case kScans[] = {{16, 1, 512, 16}, {256, 1, 512, 16}, {512, 1, 1536, 16}};
const Case kHeads[] = {{256, 8, 64, 64}, {256, 8, 64, 128}};

// States forget, so that errors do not grow with time.
Tensor steps(Builder& g, const Shape& shape) { return abs(g.input("step", f32, shape)) * 0.25f + 0.25f; }
Tensor rates(Builder& g, const Shape& shape) { return abs(g.param("rate", f32, shape)) * -0.5f - 0.5f; }

void scan(Builder& g, const Case& c) {
  const Tensor x = g.input("x", f32, {1, c.time, c.width}), b = g.input("b", f32, {1, c.time, c.n});
  g.output("y", selective_scan(x, steps(g, x.shape()), rates(g, {c.width, c.n}), b, g.input("c", f32, b.shape())));
}
void scan_by_maps(Builder& g, const Case& c) {
  const Tensor x = g.input("x", f32, {1, c.time, c.width}), b = g.input("b", f32, {1, c.time, c.n});
  const Tensor step = steps(g, x.shape()), rate = rates(g, {c.width, c.n}), out = g.input("c", f32, b.shape());
  Tensor h;
  for (int64_t t = 0; t < c.time; ++t) {
    const auto column = [&](Tensor of) { return reshape(narrow(of, 1, t, 1), {c.width, 1}); };
    const auto row = [&](Tensor of) { return reshape(narrow(of, 1, t, 1), {1, c.n}); };
    const Tensor added = column(step) * column(x) * row(b);
    h = t == 0 ? added : exp(column(step) * rate) * h + added;
    g.output("y" + std::to_string(t), sum(h * row(out), 1));
  }
}
void heads(Builder& g, const Case& c, bool delta) {
  const Tensor x = g.input("x", f32, {1, c.time, c.heads, c.width}), b = g.input("b", f32, {1, c.time, 1, c.n});
  const Tensor step = steps(g, {1, c.time, c.heads}), out = g.input("c", f32, b.shape());
  if (delta) {
    const Tensor beta = sigmoid(g.input("beta", f32, step.shape()));
    g.output("y", gated_delta_net(out, b * (0.5f / static_cast<float>(c.n)), x, step * -0.5f, beta));
  } else {
    g.output("y", mamba2(x, step, rates(g, {c.heads}), b, out));
  }
}

void register_all() {
  const auto add = [](std::string_view op, const Case& c, std::string_view variant, auto build) {
    const std::string name = "state_space/" + std::string(op) + "/" + std::to_string(c.time) + "x" +
                             std::to_string(c.heads) + "x" + std::to_string(c.width) + "x" + std::to_string(c.n) + "/" +
                             std::string(variant);
    GraphCase graph = {[=](Builder& g) { build(g, c); }, 7.0 * static_cast<double>(c.time * c.heads * c.width * c.n)};
    if (variant != "maps") graph.choices = {{op, variant}};
    register_graph(name, graph);
  };
  for (const Case& c : kScans) {
    add("selective_scan", c, "serial", scan);
    if (c.time > 64) add("selective_scan", c, "chunked", scan);
    if (c.time == 16) add("selective_scan", c, "maps", scan_by_maps);
  }
  for (const Case& c : kHeads) {
    add("mamba2", c, "serial", [](Builder& g, const Case& of) { heads(g, of, false); });
    add("mamba2", c, "chunked", [](Builder& g, const Case& of) { heads(g, of, false); });
    add("gated_delta_net", c, "serial", [](Builder& g, const Case& of) { heads(g, of, true); });
  }
}

}  // namespace
}  // namespace rlxgpu::core::benchmarks

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  rlxgpu::core::benchmarks::register_all();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
