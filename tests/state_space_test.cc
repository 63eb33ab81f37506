// selective_scan, mamba2, gated_delta_net: every variant, shapes, states from run to run, time given at run time.
#include "rlxgpu/kernels/state_space/state_space.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("recurrences: what is wrong is said", "[state_space]") {
  const auto scan = [](Shape x, Shape delta, Shape a, Shape b, Shape c) {
    return message_of([&](Builder& g) {
      selective_scan(g.input("x", f32, x), g.input("d", f32, delta), g.input("a", f32, a), g.input("b", f32, b),
                     g.input("c", f32, c));
    });
  };
  CHECK(scan({4, 5}, {4, 5}, {5, 2}, {4, 2}, {4, 2}).ends_with("x is (batch, time, channel)"));
  CHECK(scan({1, 4, 5}, {1, 4, 5}, {5, 2}, {1, 4, 2}, {1, 4, 3}).ends_with("b and c are (batch, time, n)"));
  CHECK(scan({1, 4, 5}, {1, 4, 4}, {5, 2}, {1, 4, 2}, {1, 4, 2}).ends_with("steps are of [1,4,5]"));
  CHECK(scan({1, 4, 5}, {1, 4, 5}, {2, 5}, {1, 4, 2}, {1, 4, 2}).ends_with("rates are of [5,2]"));
  CHECK(scan({1, 4, 5}, {1, 4, 5}, {5, 300}, {1, 4, 300}, {1, 4, 300})
            .ends_with("a state has 1 to 256 numbers, not 300"));
  CHECK(message_of([](Builder& g) {
          const Tensor x = g.input("x", f32, {1, 4, 3, 5}), d = g.input("d", f32, {1, 4, 3}),
                       b = g.input("b", f32, {1, 4, 2, 6});
          mamba2(x, d, g.input("a", f32, {3}), b, b);
        }) == "mamba2([1,4,3,5], [1,4,3], [3], [1,4,2,6], [1,4,2,6]): 3 heads are no multiple of 2 groups");
  CHECK(message_of([](Builder& g) {
          const Tensor v = g.input("v", f32, {1, 4, 3, 5}), d = g.input("d", f32, {1, 4, 3}),
                       k = g.input("k", f32, {1, 4, 3, 6});
          gated_delta_net(k, k, v, d, d, {.state = g.state("s", f32, {1, 3, 6, 5})});
        }).ends_with("the state is f32[1,3,5,6]"));
  CHECK(message_of([](Builder& g) {
          const Tensor v = g.input("v", f32, {1, 4, 3, 5}), d = g.input("d", f32, {1, 4, 3}),
                       k = g.input("k", f32, {1, 4, 3, 6});
          gated_delta_net(k, k, v, d, d, {.skip = d});
        }).ends_with("takes no skip"));
}

struct Sizes {
  int64_t batches, time, heads, width, groups, n;
  const char* why;
};

enum class Op { selective, mamba2, delta };

// States forget: every factor is at most exp(-1/8), so that a state is at most 8.5 inputs, and an error made in one
// step counts for as many. Inputs are at most 3 (steps of 3/4 times 2 times 2); a factor is wrong by the ulps of its
// exponent and a few, k times after k steps: sum k exp(-k/8) = 64. n products of a state with at most 2 are added, of
// either sign.
Bound recurrence_bound(DType dtype, int64_t n) {
  const double state = 3 * 64 * 4 + 8.5 * (8.5 * 3);  // ulps of 1
  return rounding(dtype) +
         Bound{0x1p-24 * 2 * state * (2 + std::sqrt(static_cast<double>(n))), 0x1p-24 * static_cast<double>(n)};
}

Tensor make(Builder& g, Op op, const Sizes& s, Dim time, DType dtype, Tensor state = {}) {
  const bool one = op == Op::selective;
  const Shape x_shape = one ? Shape{s.batches, time, s.width} : Shape{s.batches, time, s.heads, s.width};
  const Shape b_shape = one ? Shape{s.batches, time, s.n} : Shape{s.batches, time, s.groups, s.n};
  const Shape head_shape = {s.batches, time, s.heads};
  const Tensor x = g.input("x", dtype, x_shape), b = g.input("b", dtype, b_shape), c = g.input("c", dtype, b_shape);
  const Tensor step = abs(g.input("step", f32, one ? x_shape : head_shape)) * 0.25f + 0.25f;
  if (op == Op::delta) {  // keys shorter than 1 and betas below 1: no step lets a state grow
    const Tensor k = b * static_cast<float>(0.5 / std::sqrt(static_cast<double>(s.n)));
    const Tensor beta = sigmoid(g.input("beta", f32, head_shape));
    return gated_delta_net(c, k, x, step * -0.5f, beta, {.state = state});
  }
  const Tensor rate = abs(g.param("rate", f32, one ? Shape{s.width, s.n} : Shape{s.heads})) * -0.5f - 0.5f;
  const Tensor skip = dtype == f32 ? g.param("skip", f32, one ? Shape{s.width} : Shape{s.heads}) : Tensor();
  return one ? selective_scan(x, step, rate, b, c, {.skip = skip, .state = state})
             : mamba2(x, step, rate, b, c, {.skip = skip, .state = state});
}

std::string_view name_of(Op op) {
  return op == Op::selective ? "selective_scan" : op == Op::mamba2 ? "mamba2" : "gated_delta_net";
}

TEST_CASE("recurrences agree with the reference", "[state_space][gpu]") {
  const Device device = device_or_skip();
  const Op op = GENERATE(Op::selective, Op::mamba2, Op::delta);
  const Sizes s =
      GENERATE(Sizes{1, 1, 1, 1, 1, 1, "one of everything"}, Sizes{2, 9, 3, 5, 1, 3, "ragged"},
               Sizes{1, 0, 2, 4, 2, 4, "no time"}, Sizes{0, 3, 2, 4, 2, 4, "no batch"},
               Sizes{2, 70, 2, 33, 2, 16, "more than one chunk"}, Sizes{1, 12, 4, 70, 2, 128, "states that are shared"},
               Sizes{1, 200, 1, 8, 1, 40, "a long time"});
  CAPTURE(name_of(op), s.why);
  const auto build = [&](Builder& g) { g.output("y", make(g, op, s, s.time, f32)); };
  const Agreement agreement = {.bound = recurrence_bound(f32, s.n)};
  if (s.batches * s.time == 0) return check_agrees(device, build, agreement);  // no kernel at all
  const OpDef& definition = op == Op::selective ? kSelectiveScan : op == Op::mamba2 ? kMamba2 : kGatedDeltaNet;
  check_every_variant(device, definition, build, agreement);
}

TEST_CASE("recurrences of other types, over slices, joined by maps", "[state_space][gpu]") {
  const Device device = device_or_skip();
  const Sizes s = {2, 7, 4, 6, 2, 12, ""};
  const Op op = GENERATE(Op::selective, Op::mamba2, Op::delta);
  const DType dtype = GENERATE(f16, bf16);
  check_agrees(device, [&](Builder& g) { g.output("y", make(g, op, s, s.time, dtype) * 0.5f); },
               {.bound = recurrence_bound(dtype, s.n)});
  // b and c are parts of one product, as models have them.
  const auto build = [&](Builder& g) {
    const Tensor bc = g.input("bc", f32, {2, 7, 3 + 2 * 12}), x = g.input("x", f32, {2, 7, 6});
    const Tensor delta = softplus(g.input("delta", f32, {2, 7, 6}) - 1.0f);
    const Tensor y = selective_scan(x, delta, -exp(g.param("a", f32, {6, 12}) - 1.0f), narrow(bc, 2, 3, 12),
                                    narrow(bc, 2, 15, 12), {.skip = g.param("d", f32, {6})});
    g.output("y", y * silu(g.input("z", f32, {2, 7, 6})));
  };
  CHECK(compiled(build).steps.size() == 1);
  check_agrees(device, build, {.bound = recurrence_bound(f32, 12) + ulp_bound(f32, 64)});
}

// One run over all of the time, runs of a few steps, and of one: the same results, and the same state in the end.
TEST_CASE("a state goes on from run to run", "[state_space][gpu]") {
  const Device device = device_or_skip();
  const Op op = GENERATE(Op::selective, Op::mamba2, Op::delta);
  const std::string_view variant = GENERATE("serial", "chunked");
  if (variant == "chunked" && op == Op::delta) return;
  CAPTURE(name_of(op), variant);
  constexpr int64_t kTime = 150;
  const Sizes s = {2, kTime, 2, 9, 2, 5, ""};
  const Shape state = op == Op::selective ? Shape{2, 9, 5} : Shape{2, 2, 9, 5};
  DynamicGraph graph;
  graph->output("y", make(*graph, op, s, graph->extent("time", kTime), f32, graph->state("h", f32, state)));
  const Choice choices[] = {{name_of(op), variant}};
  DynamicOptions options;
  options.compile.choices = choices;
  options.compile.check = true;
  const size_t others = op == Op::delta;  // keys are scaled before
  CHECK(compiled(graph.graph(), options.compile).steps.size() == others + (variant == "serial" ? 1 : 3));
  auto executable = Executable<DynamicGraph>::create(device, graph, options);
  REQUIRE(executable.status().ToString() == "OK");

  reference::Arrays states;
  int64_t first = 0;
  for (const int64_t time : {int64_t{3}, int64_t{1}, int64_t{0}, int64_t{100}, int64_t{1}}) {
    CAPTURE(first, time);
    const Agreement agreement = {.bound = recurrence_bound(f32, s.n),
                                 .numbers = {{"time", static_cast<double>(time)}},
                                 .seed = static_cast<uint32_t>(first + 1)};
    reference::Arrays inputs = inputs_of(graph.graph(), agreement);
    for (const char* const weight : {"rate", "skip"}) {  // the same in every run
      if (inputs.contains(weight)) std::fill(inputs[weight].data.begin(), inputs[weight].data.end(), 0.75);
    }
    const reference::Arrays expected =
        reference::run(graph.graph(), inputs, {.numbers = agreement.numbers, .states = &states});
    REQUIRE(executable->set("time", static_cast<double>(time)).ToString() == "OK");
    for (const auto& [name, array] : inputs) {
      REQUIRE(executable->set_elements(name, f32, array.count(), pack(array).data()).ToString() == "OK");
    }
    executable->run();
    const std::vector<float> y = *executable->get<float>("y"), h = *executable->get<float>("h");
    CHECK_THAT(std::vector<double>(y.begin(), y.end()), CloseTo(expected.at("y").data, agreement.bound));
    CHECK_THAT(std::vector<double>(h.begin(), h.end()), CloseTo(states.at("h").data, agreement.bound));
    first += time;
  }
}

// An independent statement, in plain C++: what the shared reference says is what Mamba's authors say.
TEST_CASE("what recurrences mean, worked out by hand", "[state_space]") {
  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {1, 2, 1}), d = graph->input("d", f32, {1, 2, 1}),
               a = graph->input("a", f32, {1, 2});
  const Tensor b = graph->input("b", f32, {1, 2, 2}), c = graph->input("c", f32, {1, 2, 2});
  graph->output("scan", selective_scan(x, d, a, b, c, {.skip = graph->input("skip", f32, {1})}));
  const auto by_head = [&](Tensor t) { return reshape(t, {1, 2, 1, 2}); };
  graph->output("mamba2", mamba2(reshape(x, {1, 2, 1, 1}), d, graph->input("rate", f32, {1}), by_head(b), by_head(c)));
  graph->output("delta", gated_delta_net(by_head(c), by_head(b), reshape(x, {1, 2, 1, 1}), d,
                                         graph->input("beta", f32, {1, 2, 1})));
  const auto of = [](const Shape& shape, std::vector<double> values) {
    return reference::array_of(f32, shape, values);
  };
  const reference::Arrays in = {{"x", of({1, 2, 1}, {2, -1})},
                                {"d", of({1, 2, 1}, {0.5, 0.25})},
                                {"a", of({1, 2}, {-1, -2})},
                                {"b", of({1, 2, 2}, {1, 2, 3, 4})},
                                {"c", of({1, 2, 2}, {1, -1, 0.5, 2})},
                                {"skip", of({1}, {3})},
                                {"rate", of({1}, {-1})},
                                {"beta", of({1, 2, 1}, {1, 0.5})}};
  const reference::Arrays out = reference::run(graph.graph(), in, {.round = false});
  // First: h = 0.5 * 2 * (1, 2) = (1, 2), y = 1 - 2. Then h decays by exp(-1/4) and exp(-1/2), and -1/4 (3, 4) is
  // added.
  const double e1 = std::exp(-0.25), e2 = std::exp(-0.5);
  CHECK_THAT(out.at("scan").data, CloseTo({-1 + 3 * 2, 0.5 * (e1 - 0.75) + 2 * (2 * e2 - 1) + 3 * -1}, {1e-12, 0}));
  CHECK_THAT(out.at("mamba2").data, CloseTo({-1, 0.5 * (e1 - 0.75) + 2 * (2 * e1 - 1)}, {1e-12, 0}));
  // First: h = 2 (1, 2). Then h = e (2, 4), of which keys (3, 4) hold 22 e; half of -1 - 22 e is added along them.
  const double g = std::exp(0.25), v = (-1 - 22 * g) / 2;
  CHECK_THAT(
      out.at("delta").data,
      CloseTo({(2 - 4) / std::sqrt(2.0), (0.5 * (2 * g + 3 * v) + 2 * (4 * g + 4 * v)) / std::sqrt(2.0)}, {1e-12, 0}));
}

}  // namespace
}  // namespace rlxgpu::core::testing
