// lstm, gru and rnn.
#include "rlxgpu/kernels/recurrent/recurrent.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/compile/freeze.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("recurrent: what is wrong is said", "[recurrent]") {
  const auto x = [](Builder& g) { return g.input("x", f32, {5, 2, 3}); };
  CHECK(message_of([&](Builder& g) { lstm(x(g), {g.param("w", f32, {1, 16, 3}), g.param("r", f32, {1, 12, 4})}); }) ==
        "lstm([5,2,3], [1,16,3], [1,12,4]): recurrent weights must be (1, 4 hidden, hidden)");
  CHECK(message_of([&](Builder& g) { gru(x(g), {g.param("w", f32, {1, 12, 4}), g.param("r", f32, {1, 12, 4})}); }) ==
        "gru([5,2,3], [1,12,4], [1,12,4]): input weights must be [1,12,3]");
  CHECK(
      message_of([&](Builder& g) {
        rnn(x(g),
            {.w = g.param("w", f32, {1, 4, 3}), .r = g.param("r", f32, {1, 4, 4}), .bias = g.param("b", f32, {1, 4})});
      }) == "rnn([5,2,3], [1,4,3], [1,4,4]): the bias must be [1,8]");
  CHECK(
      message_of([&](Builder& g) {
        rnn(x(g),
            {.w = g.param("w", f32, {1, 4, 3}), .r = g.param("r", f32, {1, 4, 4}), .lengths = g.input("l", i32, {3})});
      }).ends_with("lengths must be [2]"));
}

struct Sizes {
  int64_t time, batch, input, hidden;
  Direction direction;
  const char* why;
};

struct Given {
  bool bias = false, initial = false, lengths = false, extra = false;
};

void outputs(Builder& g, const Recurrent& made) {
  g.output("y", made.y), g.output("h", made.h);
  if (made.c.given()) g.output("c", made.c);
}

using Cell = Recurrent (*)(Tensor, const RecurrentWeights&, const RecurrentOptions&, Site);

// Weights are small, as trained ones are: sums stay where activations have a slope, and errors do not grow from step to
// step.
void check_cell(const Device& device, Cell cell, int64_t gates, const Sizes& s, const Given& given,
                RecurrentOptions options, DType dtype = f32, bool device_only = false) {
  CAPTURE(s.why, gates, name_of(dtype));
  const int64_t directions = s.direction == Direction::both ? 2 : 1;
  options.direction = s.direction;
  const auto build = [&](Builder& g) {
    const float small = 0.5f / std::sqrt(static_cast<float>(s.hidden));
    RecurrentWeights weights = {g.param("w", dtype, {directions, gates * s.hidden, s.input}) * 0.25f,
                                g.param("r", dtype, {directions, gates * s.hidden, s.hidden}) * small};
    if (given.bias) weights.bias = g.param("b", dtype, {directions, 2 * gates * s.hidden});
    if (given.initial) weights.initial_h = g.input("h0", dtype, {directions, s.batch, s.hidden});
    if (given.initial && gates == 4) weights.initial_c = g.input("c0", dtype, {directions, s.batch, s.hidden});
    if (given.lengths) weights.lengths = g.input("lengths", i32, {s.batch});
    if (given.extra && gates == 4) weights.peepholes = g.param("p", dtype, {directions, 3 * s.hidden});
    outputs(g, cell(g.input("x", dtype, {s.time, s.batch, s.input}), weights, options, {}));
  };
  std::vector<double> lengths;
  for (int64_t i = 0; i < s.batch; ++i) lengths.push_back(static_cast<double>((i * 3 + s.time) % (s.time + 1)));
  // A step adds the errors of its sums (hidden and input terms, rounded inputs) and its activations to those it was
  // given, which a slope of at most 1 and weights of row sum about 1 hand on.
  const double step =
      0x1p-23 * (8 + static_cast<double>(s.hidden + s.input)) + (dtype == f32 ? 0 : 8 * rounding(dtype).relative);
  const Agreement agreement = {.bound = rounding(dtype) + Bound{4 * step * static_cast<double>(s.time), 0},
                               .given = {{"lengths", lengths}},
                               .device_only = device_only};
  if (s.batch == 0) return check_agrees(device, build, agreement);  // no kernel at all
  check_every_variant(device, kRecurrent, build, agreement);
}

constexpr Given kNothing, kAll = {true, true, true, true};

TEST_CASE("lstm, gru and rnn agree with the reference", "[recurrent][gpu]") {
  const Device device = device_or_skip();
  const auto check = [&](const Sizes& s, const Given& given) {
    check_cell(device, lstm, 4, s, given, {});
    check_cell(device, gru, 3, s, given, {});
    check_cell(device, gru, 3, s, given, {.linear_before_reset = true});
    check_cell(device, rnn, 1, s, given, {});
  };
  check({1, 1, 1, 1, Direction::forward, "smallest"}, kNothing);
  check({5, 3, 4, 7, Direction::both, "ragged"}, kAll);
  check({3, 20, 6, 33, Direction::reverse, "several sequences a workgroup"}, kAll);
  check({3, 0, 2, 3, Direction::forward, "no sequences"}, kNothing);
}

struct Wide {
  static constexpr void build(Builder& g) {
    g.output(
        "h",
        lstm(g.input("x", f32, {10, 1, 64}), {g.param("w", f32, {1, 2048, 64}), g.param("r", f32, {1, 2048, 512})}).h);
  }
};
// The product, the weights by k, the states before and after, h out of them, and ten steps of one kernel.
static_assert(Frozen<Wide, kPortable>::view.steps.size() == 15);
static_assert(Frozen<Wide, kPortable>::view.kernels.specs.size() == 6);

TEST_CASE("what does not fit workgroup memory", "[recurrent][gpu]") {
  const Device device = device_or_skip();
  check_cell(device, lstm, 4, {2, 2, 1, 1366, Direction::forward, "wide"}, kAll, {}, f32, true);
  check_cell(device, gru, 3, {2, 2, 1, 1025, Direction::forward, "wide"}, kAll, {}, f32, true);
}

TEST_CASE("f16 and bf16, coupled gates and clipped sums", "[recurrent][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16, bf16);
  const Sizes s = {4, 3, 6, 10, Direction::both, "narrow types"};
  check_cell(device, lstm, 4, s, {true, false, true, false}, {.coupled = true, .clip = 0.5f}, dtype);
  check_cell(device, gru, 3, s, {true, false, false, false}, {.clip = 0.75f}, dtype);
}

TEST_CASE("every activation", "[recurrent][gpu]") {
  const Device device = device_or_skip();
  using K = CellActivationKind;
  const std::vector<CellActivation> all = {{K::sigmoid},
                                           {K::tanh},
                                           {K::relu},
                                           {K::affine, 0.5f, 0.25f},
                                           {K::leaky_relu, 0.1f},
                                           {K::scaled_tanh, 1.5f, 0.5f},
                                           {K::hard_sigmoid, 0.2f, 0.5f},
                                           {K::elu, 0.5f},
                                           {K::softsign},
                                           {K::softplus},
                                           {K::hard_sigmoid, 0.25f, 0.4f},
                                           {K::tanh}};
  const Sizes s = {3, 2, 4, 5, Direction::both, "activations"};
  for (size_t first = 0; first < all.size(); first += 6) {
    CAPTURE(first);
    check_cell(device, lstm, 4, s, {true, true, false, true}, {.activations = std::span(all).subspan(first, 6)});
  }
  const CellActivation threshold[] = {{K::thresholded_relu, 0.37f}};
  check_cell(device, rnn, 1, {1, 2, 4, 5, Direction::forward, "threshold"}, {}, {.activations = threshold});
}

// An lstm of one unit, step by step: h = sigmoid(x) tanh(sigmoid(x) tanh(x)), with all weights of the input 1.
TEST_CASE("numbers worked out by hand", "[recurrent][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  const Recurrent made = lstm(graph->input("x", f32, {2, 1, 1}),
                              {.w = graph->param("w", f32, {1, 4, 1}), .r = graph->param("r", f32, {1, 4, 1})});
  outputs(*graph, made);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>{1, -2}).ok());
  REQUIRE(executable->set("w", std::vector<float>{1, 1, 1, 1}).ok());
  REQUIRE(executable->set("r", std::vector<float>{0, 0, 0, 3}).ok());  // the cell also sees three times h
  executable->run();
  const auto sigmoid = [](double v) { return 1 / (1 + std::exp(-v)); };
  const double c1 = sigmoid(1) * std::tanh(1), h1 = sigmoid(1) * std::tanh(c1);
  const double c2 = sigmoid(-2) * c1 + sigmoid(-2) * std::tanh(-2 + 3 * h1), h2 = sigmoid(-2) * std::tanh(c2);
  const auto y = executable->get<float>("y"), c = executable->get<float>("c");
  REQUIRE(y.ok());
  CHECK(std::abs((*y)[0] - h1) < 1e-6);
  CHECK(std::abs((*y)[1] - h2) < 1e-6);
  CHECK(std::abs((*c)[0] - c2) < 1e-6);
}

}  // namespace
}  // namespace rlxgpu::core::testing
