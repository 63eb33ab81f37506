// lstm, gru and rnn on the device.
//
//   ./dev bench recurrent
//
// recurrent/CELL/TxBxIxH/FORM: "default" is one product and one dispatch for all steps; "unrolled" (lstm) the same as a
// graph of a product and maps for each step.
#include <string>

#include "benchmark/benchmark.h"
#include "benchmarks/graph_bench.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/recurrent/recurrent.h"

namespace rlxgpu::core::benchmarks {
namespace {

struct Case {
  int64_t time, batch, input, hidden;
};
const Case kCases[] = {{100, 1, 64, 64}, {100, 1, 256, 256}, {50, 16, 128, 128}, {20, 32, 512, 512}};

// Small weights, so that sums stay where activations have a slope.
RecurrentWeights weights_of(Builder& g, const Case& c, int64_t gates) {
  const float small = 0.5f / static_cast<float>(c.hidden);
  return {.w = g.param("w", f32, {1, gates * c.hidden, c.input}) * small,
          .r = g.param("r", f32, {1, gates * c.hidden, c.hidden}) * small};
}

void unrolled(Builder& g, const Case& c) {
  const RecurrentWeights weights = weights_of(g, c, 4);
  const auto by = [](Tensor w) { return transpose(reshape(w, {w.shape()[1], w.shape()[2]}), {1, 0}); };
  const Tensor given = matmul(g.input("x", f32, {c.time, c.batch, c.input}), by(weights.w)), r = by(weights.r);
  Tensor h, state;
  for (int64_t t = 0; t < c.time; ++t) {
    Tensor sums = reshape(narrow(given, 0, t, 1), {c.batch, 4 * c.hidden});
    if (t > 0) sums = sums + matmul(h, r);
    const auto gate = [&](int64_t k) { return narrow(sums, 1, k * c.hidden, c.hidden); };
    const Tensor fresh = sigmoid(gate(0)) * tanh(gate(3));
    state = t == 0 ? fresh : sigmoid(gate(2)) * state + fresh;
    h = sigmoid(gate(1)) * tanh(state);
  }
  g.output("h", h);
}

void register_all() {
  for (const Case& c : kCases) {
    const std::string sizes = std::to_string(c.time) + "x" + std::to_string(c.batch) + "x" + std::to_string(c.input) +
                              "x" + std::to_string(c.hidden);
    const auto add = [&](const char* name, int64_t gates, auto cell) {
      const double flops = 2.0 * static_cast<double>(c.time * c.batch * gates * c.hidden * (c.input + c.hidden));
      const auto build = [=](Builder& g) {
        g.output("h", cell(g.input("x", f32, {c.time, c.batch, c.input}), weights_of(g, c, gates)).h);
      };
      register_graph(std::string("recurrent/") + name + "/" + sizes + "/default", {build, flops});
      if (gates == 4)
        register_graph(std::string("recurrent/") + name + "/" + sizes + "/unrolled",
                       {[=](Builder& g) { unrolled(g, c); }, flops});
    };
    add("lstm", 4, [](Tensor x, const RecurrentWeights& w) { return lstm(x, w); });
    add("gru", 3, [](Tensor x, const RecurrentWeights& w) { return gru(x, w); });
    add("rnn", 1, [](Tensor x, const RecurrentWeights& w) { return rnn(x, w); });
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
