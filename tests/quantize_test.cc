// quantize and its relatives, and the gate of a mixture of experts.
#include "rlxgpu/kernels/quantize/quantize.h"

#include <cmath>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/gate/gate.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("quantize: what is wrong is said", "[quantize]") {
  const auto x = [](Builder& g) { return g.input("x", f32, {4, 6}); };
  CHECK(message_of([&](Builder& g) { quantize(x(g), g.param("s", f32, {5}), u8); }) ==
        "quantize([4,6], [5]): axis 1 wants 6 scales, or one for all");
  CHECK(message_of([&](Builder& g) { quantize(x(g), g.param("s", f32, {4}), u8, {.axis = 2}); }) ==
        "quantize([4,6], [4]): axis 2 does not exist");
  CHECK(message_of([&](Builder& g) { quantize(x(g), g.param("s", f32, {4, 6}), i8, {.block = 4}); }) ==
        "quantize([4,6], [4,6]): blocks of 4 along axis 1 want scales of [4,2]");
  CHECK(message_of([&](Builder& g) { quantize(x(g), g.param("s", f32, {}), i32); }) ==
        "quantize: a zero point of i32, u8 or i8 are possible");
  CHECK(message_of([&](Builder& g) { dynamic_quantize(x(g), i32); }) ==
        "dynamic_quantize: i32 is wanted, u8 or i8 are possible");
  CHECK(message_of([&](Builder& g) { dynamic_quantize(x(g), u8, {.axis = 1, .block = 4}); }) ==
        "dynamic_quantize([4,6]): blocks of 4 do not divide the axis");
  CHECK(message_of([&](Builder& g) { group_limited_gate(x(g), {.groups = 4}); }) ==
        "group_limited_gate([4,6]): the experts do not make 4 equal groups");
  CHECK(message_of([&](Builder& g) { group_limited_gate(x(g), {.groups = 3, .top_k = 3}); }) ==
        "group_limited_gate([4,6]): 3 experts are wanted of 1 groups of 2");
}

// Scales that are powers of two, so that every quotient is exact: halves, and what does not fit, show.
TEST_CASE("halves round to even and large numbers become the last integer", "[quantize][gpu]") {
  const Device device = device_or_skip();
  const std::vector<double> x = {0.25, 0.75, -0.25, -0.75, 1.25, 63.5, 64, 1000, -64, -1000, HUGE_VAL, -HUGE_VAL};
  const DType dtype = GENERATE(u8, i8);
  check_agrees(device, [&](Builder& g) {
    Tensor t = g.input("x", f32, {12}), scale = g.literal(0.5, f32), zero = g.literal(dtype == u8 ? 128 : -3, dtype);
    Tensor q = quantize(t, scale, zero);
    g.output("q", q), g.output("y", dequantize(q, scale, zero)), g.output("around", quantize(t, scale, dtype));
    g.output("fake", fake_quantize(t, scale, zero));
  }, {.bound = {}, .given = {{"x", x}}});
}

TEST_CASE("integers of 4 and 16 bits are held in wider types", "[quantize][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  const Tensor x = graph->input("x", f32, {6}), scale = graph->literal(0.5, f32);
  graph->output("i4", quantize_between(x, scale, graph->literal(1, i8), -8, 7));
  graph->output("u16", quantize_between(x, scale, graph->literal(32768, u32), 0, 65535));
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>{0.25f, -1.0f, 2.75f, 100.0f, -100.0f, 1e6f}).ok());
  executable->run();
  CHECK(*executable->get<int8_t>("i4") == std::vector<int8_t>{1, -1, 7, 7, -8, 7});
  CHECK(*executable->get<uint32_t>("u16") == std::vector<uint32_t>{32768, 32766, 32774, 32968, 32568, 65535});
}

TEST_CASE("scales of every granularity", "[quantize][gpu]") {
  const Device device = device_or_skip();
  struct Case {
    Shape x, scale;
    QuantizeOptions options;
  };
  const Case c =
      GENERATE(Case{{5, 7}, {}, {}}, Case{{5, 7}, {7}, {}}, Case{{5, 7}, {5}, {.axis = 0}},
               Case{{5, 7}, {5, 3}, {.axis = 1, .block = 3}}, Case{{6, 2, 3}, {2, 2, 3}, {.axis = 0, .block = 3}},
               Case{{0, 4}, {4}, {}}, Case{{3}, {3}, {.axis = 0}});
  const DType dtype = GENERATE(f32, f16);
  std::vector<double> scales;
  for (int64_t i = 0; i < c.scale.count(); ++i) scales.push_back(std::ldexp(1.0, static_cast<int>(i % 5) - 6));
  check_agrees(device, [&](Builder& g) {
    Tensor scale = g.param("scale", dtype, c.scale), zero = g.param("zero", u8, c.scale);
    Tensor q = quantize(g.input("x", dtype, c.x), scale, zero, c.options);
    g.output("q", q), g.output("y", dequantize(q, scale, zero, c.options));
  }, {.bound = {}, .given = {{"scale", scales}}});
}

TEST_CASE("dynamic_quantize fits its scales to the numbers", "[quantize][gpu]") {
  const Device device = device_or_skip();
  const QuantizeOptions options = GENERATE(QuantizeOptions{.axis = kWholeTensor}, QuantizeOptions{.axis = 0},
                                           QuantizeOptions{.axis = -1}, QuantizeOptions{.axis = 1, .block = 4});
  const DType dtype = GENERATE(u8, i8);
  const auto build = [&](Builder& g) {
    const Quantized made = dynamic_quantize(g.input("x", f32, {6, 8}), dtype, options);
    g.output("scale", made.scale), g.output("q", cast(made.values, f32)), g.output("zero", cast(made.zero_point, f32));
  };
  // A quotient near a half may round to either side: integers are off by one at most; scales by a few ulps.
  check_agrees(device, build, {.bound = {1, 4 * 0x1p-23}});
  check_agrees(device, build, {.bound = {}, .given = {{"x", std::vector<double>(48)}}});
}

// The ops are put together from others, whose references then agree with themselves: these numbers are by hand.
TEST_CASE("numbers quantised by hand", "[quantize][gpu]") {
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {10}), y = graph->input("y", f32, {4});
  graph->output("q", quantize(x, graph->literal(0.5, f32), graph->literal(128, u8)));
  const Quantized made = dynamic_quantize(y), even = dynamic_quantize(y, i8);
  graph->output("dynamic", made.values), graph->output("scale", made.scale), graph->output("zero", made.zero_point);
  graph->output("back", dequantize(made.values, made.scale, made.zero_point));
  graph->output("even", even.values), graph->output("even scale", even.scale);
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(executable.status().ToString() == "OK");
  const std::vector<float> given = {-1, 0, 1, 3};
  REQUIRE(
      executable->set("x", std::vector<float>{0.25f, 0.75f, -0.25f, -0.75f, 1.25f, 63.5f, 64, 1000, -64, -1000}).ok());
  REQUIRE(executable->set("y", given).ok());
  executable->run();
  using Bytes = std::vector<uint8_t>;
  CHECK(*executable->get<uint8_t>("q") == Bytes{128, 130, 128, 126, 130, 255, 255, 255, 0, 0});
  CHECK(*executable->get<uint8_t>("dynamic") == Bytes{0, 64, 128, 255});  // 4 / 255 a step, 0 at 63.75
  CHECK(*executable->get<uint8_t>("zero") == Bytes{64});
  CHECK(std::abs((*executable->get<float>("scale"))[0] - 4.0f / 255) < 1e-8f);
  CHECK(*executable->get<int8_t>("even") == std::vector<int8_t>{-42, 0, 42, 127});  // 3 / 127 a step
  CHECK(std::abs((*executable->get<float>("even scale"))[0] - 3.0f / 127) < 1e-8f);
  const auto back = executable->get<float>("back");
  REQUIRE(back.ok());
  for (size_t i = 0; i < given.size(); ++i) CHECK(std::abs((*back)[i] - given[i]) <= 0.501f * 4 / 255);
}

TEST_CASE("group_limited_gate agrees with the reference", "[gate][gpu]") {
  const Device device = device_or_skip();
  const GateOptions options = GENERATE(GateOptions{.groups = 4, .top_groups = 2, .top_k = 3, .scale = 2.5f},
                                       GateOptions{.groups = 1, .top_groups = 1, .top_k = 2},
                                       GateOptions{.groups = 12, .top_groups = 5, .top_k = 4},
                                       GateOptions{.groups = 4, .top_groups = 4, .top_k = 12});
  const Shape shape = GENERATE(Shape{12}, Shape{7, 12}, Shape{0, 12}, Shape{2, 3, 12});
  // Scores as a sigmoid gives them.
  check_agrees(device, [&](Builder& g) {
    const Gated made = group_limited_gate(sigmoid(g.input("x", f32, shape)), options);
    g.output("weights", made.weights), g.output("experts", made.experts);
  }, {.bound = {0, 32 * 0x1p-23}});
}

TEST_CASE("a group counts by its two best, and the chosen are inside the best groups", "[gate][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  // The best expert (0.9) is alone in its group: 0.9 + 0.1 is less than 0.6 + 0.5.
  const Gated made = group_limited_gate(graph->input("x", f32, {6}), {.groups = 2, .top_groups = 1, .top_k = 2});
  graph->output("weights", made.weights), graph->output("experts", made.experts);
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>{0.9f, 0.1f, 0.0f, 0.5f, 0.6f, 0.2f}).ok());
  executable->run();
  CHECK(*executable->get<int32_t>("experts") == std::vector<int32_t>{4, 3});
  CHECK(std::abs((*executable->get<float>("weights"))[0] - 0.6f / 1.1f) < 1e-6f);
}

}  // namespace
}  // namespace rlxgpu::core::testing
