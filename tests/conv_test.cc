#include "rlxgpu/kernels/conv/conv.h"

#include <string>
#include <string_view>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/kernels/conv/conv_transpose.h"
#include "rlxgpu/kernels/conv/deform_conv.h"
#include "rlxgpu/kernels/conv/im2col.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr Shape result(Shape x, Shape w, ConvOptions options = {}) {
  Builder g;
  return conv(g.input("x", f32, x), g.input("w", f32, w), options).shape();
}
constexpr Shape transposed(Shape x, Shape w, ConvTransposeOptions options = {}) {
  Builder g;
  return conv_transpose(g.input("x", f32, x), g.input("w", f32, w), options).shape();
}

TEST_CASE("conv: shapes", "[conv]") {
  STATIC_REQUIRE(result({2, 3, 8}, {5, 3, 3}) == Shape{2, 5, 6});
  STATIC_REQUIRE(result({2, 4, 8, 9}, {6, 2, 3, 2}, {.strides = {2, 1}, .groups = 2}) == Shape{2, 6, 3, 8});
  STATIC_REQUIRE(result({1, 1, 5, 5, 5}, {1, 1, 3, 3, 3}, {.dilations = {2, 2, 2}}) == Shape{1, 1, 1, 1, 1});
  STATIC_REQUIRE(result({1, 3, 8}, {4, 3, 1}) == Shape{1, 4, 8});
  STATIC_REQUIRE(transposed({1, 3, 4}, {3, 2, 3}, {.strides = {2}, .before = {1}, .after = {1}, .more = {1}}) ==
                 Shape{1, 2, 8});
}

TEST_CASE("conv: what is wrong is said", "[conv]") {
  const auto error = [](Shape x, Shape w, ConvOptions options = {}) {
    return message_of([&](Builder& g) { conv(g.input("x", f32, x), g.input("w", f32, w), options); });
  };
  CHECK(error({1, 3, 8}, {4, 2, 3}) == "conv([1,3,8], [4,2,3]): x has 3 channels, w wants 2 in each of 1 groups");
  CHECK(error({1, 4, 8}, {3, 2, 3}, {.groups = 2}) ==
        "conv([1,4,8], [3,2,3]): 3 channels of w are no multiple of 2 groups");
  CHECK(error({1, 3, 8}, {4, 3, 9}) ==
        "conv([1,3,8], [4,3,9]): a kernel that reaches over 9 elements does not fit into 8");
  CHECK(error({1, 3, 8}, {4, 3, 3}, {.strides = {1, 1}}) ==
        "conv([1,3,8], [4,3,3]): kernel, strides, dilations and pads need 1 numbers each");
  CHECK(error({1, 3, 8}, {4, 3, 3}, {.strides = {0}}) ==
        "conv([1,3,8], [4,3,3]): kernel, strides and dilations must be 1 at least");
  CHECK(error({1, 3}, {4, 3}) == "conv([1,3], [4,3]): needs (image, channel) and 1 to 3 spatial axes");
  CHECK(message_of([](Builder& g) { conv(g.input("x", f16, {1, 3, 8}), g.input("w", f32, {4, 3, 3})); }) ==
        "conv(f16[1,3,8], [4,3,3]): f16 and f32 do not mix: cast one of them");
  CHECK(message_of([](Builder& g) {
          conv(g.input("x", f32, {1, 3, 8}), g.input("w", f32, {4, 3, 3}), g.input("b", f32, {3}));
        }) == "conv: a bias of [3] for 4 channels");
  CHECK(message_of([](Builder& g) { conv_transpose(g.input("x", f32, {1, 3, 8}), g.input("w", f32, {4, 3, 3})); }) ==
        "conv_transpose([1,3,8], [4,3,3]): x has 3 channels, w wants 4 in 1 groups");
  CHECK(message_of([](Builder& g) { col2im(g.input("x", f32, {1, 9, 8}), {4, 4}, {.kernel = {3, 3}}); }) ==
        "col2im([1,9,8]): the window has 4 places in [1,1,4,4], not 8");
  CHECK(message_of([](Builder& g) {
          deform_conv(g.input("x", f32, {1, 1, 4, 4}), g.input("w", f32, {1, 1, 3, 3}),
                      g.input("o", f32, {1, 9, 2, 2}));
        }) == "deform_conv([1,1,4,4], [1,9,2,2]): offsets must be [1,18,2,2]");
}

struct Sizes {
  Shape x, w;
  ConvOptions options;
  const char* why;
};

void check_conv(const Device& device, const Sizes& sizes, DType dtype) {
  CAPTURE(sizes.why, name_of(dtype));
  const auto build = [&](Builder& g) {
    g.output("y", conv(g.input("x", dtype, sizes.x), g.input("w", dtype, sizes.w), sizes.options));
  };
  const int64_t k = sizes.w.count(1, sizes.w.rank());
  check_every_variant(device, kConv, build, {.bound = dot_bound(dtype, k, 4.0)});
}

TEST_CASE("conv agrees with the reference, whatever the shapes", "[conv][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = GENERATE(
      Sizes{{1, 1, 1}, {1, 1, 1}, {.before = {1}, .after = {1}}, "smallest with pads"},
      Sizes{{1, 3, 200}, {5, 3, 7}, {.strides = {3}}, "one axis"},
      Sizes{{2, 5, 9, 11}, {3, 5, 3, 3}, {.before = {1, 1}, .after = {1, 1}}, "odd everywhere"},
      Sizes{{1, 4, 12, 8}, {4, 4, 2, 2}, {.strides = {2, 2}}, "whole vectors"},
      Sizes{{1, 3, 14, 13},
            {4, 3, 3, 2},
            {.strides = {2, 1}, .dilations = {2, 3}, .before = {0, 2}, .after = {3, 1}},
            "everything uneven"},
      Sizes{{2, 6, 7, 7}, {4, 3, 3, 3}, {.groups = 2}, "two groups"},
      Sizes{{1, 2, 5, 6, 7},
            {3, 2, 2, 3, 2},
            {.strides = {1, 2, 1}, .before = {1, 0, 1}, .after = {0, 1, 1}},
            "three axes"},
      Sizes{{2, 5, 9, 10}, {5, 1, 3, 3}, {.before = {1, 1}, .after = {1, 1}, .groups = 5}, "every channel by itself"},
      Sizes{{1, 3, 33},
            {6, 1, 4},
            {.strides = {2}, .dilations = {3}, .before = {3}, .after = {0}, .groups = 3},
            "two of each channel"},
      Sizes{
          {1, 2, 6, 3}, {2, 1, 3, 3}, {.before = {3, 2}, .after = {3, 2}, .groups = 2}, "windows of nothing but pads"},
      Sizes{{0, 3, 8}, {4, 3, 3}, {}, "no images"}, Sizes{{2, 3, 8}, {0, 3, 3}, {}, "no results"});
  check_conv(device, sizes, f32);
}

TEST_CASE("conv agrees with the reference where blocks end", "[conv][gpu]") {
  const Device device = device_or_skip();
  check_conv(device, {{1, 20, 10, 13}, {67, 20, 3, 3}, {.before = {1, 1}, .after = {1, 1}}, "several blocks"}, f32);
}

TEST_CASE("conv agrees with the reference, whatever the types", "[conv][gpu]") {
  const Device device = device_or_skip();
  const ConvOptions pads = {.before = {1, 1}, .after = {1, 1}, .groups = 3};
  const Sizes sizes = {{1, 3, 7, 9}, {3, 1, 3, 3}, pads, "odd everywhere"};
  for (const DType dtype : {f16, bf16, i32, u32, i8, u8}) check_conv(device, sizes, dtype);
}

TEST_CASE("what is not finite stays where it is", "[conv][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    g.output("y", conv(g.input("x", f32, {1, 1, 6}), g.input("w", f32, {4, 1, 2})));
  };
  check_every_variant(device, kConv, build,
                      {.bound = dot_bound(f32, 2, 4.0), .given = {{"x", {1, HUGE_VAL, 2, 3, 4, -HUGE_VAL}}}});
}

TEST_CASE("a kernel of one element is a product", "[conv][gpu]") {
  const Device device = device_or_skip();
  const int64_t groups = GENERATE(1, 3);
  const auto build = [&](Builder& g) {
    Tensor y = conv(g.input("x", f32, {2, 6, 5, 5}), g.input("w", f32, {9, 6 / groups, 1, 1}), g.input("b", f32, {9}),
                    {.groups = groups});
    g.output("y", relu(y));
  };
  const Program program = compiled(build);
  CHECK(program.steps.size() == 1);
  CHECK(view_of(program, kPortable).name(program.steps[0].label).starts_with("matmul"));
  check_agrees(device, build, {.bound = dot_bound(f32, 6, 4.0) + rounding(f32)});
}

TEST_CASE("bias, residual and activation join a convolution", "[conv][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  const bool alone = GENERATE(true, false);  // every channel by itself
  CAPTURE(name_of(dtype), alone);
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", dtype, {2, 4, 6, 8});
    Tensor w = g.param("w", dtype, {4, alone ? 1 : 4, 3, 3});
    Tensor y = conv(x, w, g.param("b", dtype, {4}), {.before = {1, 1}, .after = {1, 1}, .groups = alone ? 4 : 1});
    g.output("y", relu(y + x));
  };
  CHECK(compiled(build).steps.size() == 1);
  // The reference rounds three times on the way, numbers below 64.
  check_every_variant(device, kConv, build,
                      {.bound = dot_bound(dtype, 38, 4.0) + Bound{3 * 64 * epsilon_of(dtype), 0}});
}

TEST_CASE("conv reads views where they are, and writes them", "[conv][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) {
    Tensor x = transpose(g.input("x", f32, {2, 7, 9, 4}), {0, 3, 1, 2});  // channels last
    Tensor w = slice(g.input("w", f32, {4, 5, 3, 3}), {0, 1, 0, 0}, {4, 5, 3, 3});
    g.output("y", transpose(conv(x, w), {0, 2, 3, 1}));
  };
  CHECK(compiled(build).steps.size() == 1);
  check_every_variant(device, kConv, build, {.bound = dot_bound(f32, 36, 4.0)});
}

TEST_CASE("the number of images may be a run-time extent", "[conv][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    Tensor x = g.input("x", f32, {g.extent("n", 4), 4, 12});
    g.output("y", conv(x, g.input("w", f32, {4, 4, 3})));
    g.output("z", conv(x, g.input("v", f32, {4, 4, 1})));
  };
  for (const double n : {0.0, 1.0, 4.0})
    check_agrees(device, build, {.bound = dot_bound(f32, 12, 4.0), .numbers = {{"n", n}}});
}

TEST_CASE("conv_integer subtracts zero points, outside x too", "[conv][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    Tensor x = g.input("x", u8, {1, 3, 5, 6}), w = g.input("w", i8, {4, 3, 3, 3}), zero = g.input("zero", u8, {});
    const ConvOptions pads = {.before = {1, 1}, .after = {1, 1}};
    g.output("fixed", conv_integer(x, w, 3, 0, pads));
    g.output("given", conv_integer(x, w, zero, reshape(g.input("w_zero", i8, {4}), {4, 1, 1, 1}), pads));
  };
  check_agrees(device, build, {.bound = {}});
}

TEST_CASE("im2col and col2im agree with their references", "[conv][gpu]") {
  const Device device = device_or_skip();
  const WindowOptions window = GENERATE(
      WindowOptions{.kernel = {3, 3}, .before = {1, 1}, .after = {1, 1}},
      WindowOptions{.kernel = {2, 3}, .strides = {2, 3}},
      WindowOptions{.kernel = {3, 2}, .strides = {2, 1}, .dilations = {2, 3}, .before = {1, 2}, .after = {0, 1}},
      WindowOptions{.kernel = {1, 2}, .strides = {3, 4}});
  const auto build = [&](Builder& g) {
    Tensor columns = im2col(g.input("x", f32, {2, 3, 7, 8}), window);
    g.output("columns", columns);
    g.output("image", col2im(g.input("c", f32, columns.shape()), {7, 8}, window));
    g.output("bytes", im2col(g.input("b", u8, {1, 1, 7, 8}), window));
  };
  check_agrees(device, build, {.bound = sum_bound(f32, 9, 2.0)});
  const auto line = [](Builder& g) {
    g.output("y", col2im(g.input("c", f16, {1, 8, 5}), {11}, {.kernel = {4}, .strides = {2}, .after = {1}}));
  };
  check_agrees(device, line, {.bound = sum_bound(f16, 4, 2.0)});
}

TEST_CASE("conv_transpose is the transpose of conv", "[conv][gpu]") {
  const Device device = device_or_skip();
  struct Case {
    Shape x, w;
    ConvTransposeOptions options;
  };
  const Case c =
      GENERATE(Case{{2, 3, 5}, {3, 4, 3}, {.strides = {2}, .before = {1}, .after = {1}, .more = {1}}},
               Case{{1, 4, 3, 4}, {4, 3, 3, 2}, {.strides = {3, 2}, .dilations = {2, 1}, .groups = 2}},
               Case{{1, 2, 3, 3}, {2, 2, 1, 1}, {.strides = {2, 2}, .more = {3, 2}}},
               Case{{1, 2, 2, 3, 2}, {2, 1, 2, 2, 3}, {.strides = {1, 2, 2}, .before = {0, 1, 1}, .after = {1, 0, 1}}});
  const DType dtype = GENERATE(f32, f16);
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", dtype, c.x), w = g.input("w", dtype, c.w);
    g.output("y", relu(conv_transpose(x, w, g.input("b", dtype, {c.w[1] * c.options.groups}), c.options)));
  };
  check_agrees(device, build, {.bound = dot_bound(dtype, c.w.count(), 4.0)});

  // The sum of y * conv_transpose(x) is that of conv(y) * x: by definition, from the references alone.
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, c.x), w = graph->input("w", f32, c.w);
  Tensor back = conv_transpose(x, w, c.options);
  Tensor y = graph->input("y", f32, back.shape());
  ConvOptions forward = {c.options.strides, c.options.dilations, c.options.before, c.options.after, c.options.groups};
  for (int axis = 0; axis < forward.after.size() || axis < c.options.more.size(); ++axis) {
    forward.after.resize(c.x.rank() - 2, 0);
    if (axis < c.options.more.size()) forward.after[axis] -= c.options.more[axis];
  }
  graph->output("left", back);
  graph->output("right", conv(y, w, forward));
  REQUIRE(graph.graph().ok());
  const reference::Arrays inputs = inputs_of(graph.graph(), {.bound = {}});
  const reference::Arrays outputs = reference::run(graph.graph(), inputs, {});
  const auto dot = [](const reference::Array& a, const reference::Array& b) {
    REQUIRE(a.data.size() == b.data.size());
    double sum = 0;
    for (size_t i = 0; i < a.data.size(); ++i) sum += a.data[i] * b.data[i];
    return sum;
  };
  CHECK(std::fabs(dot(outputs.at("left"), inputs.at("y")) - dot(outputs.at("right"), inputs.at("x"))) < 1e-2);
}

TEST_CASE("deform_conv agrees with its reference", "[conv][gpu]") {
  const Device device = device_or_skip();
  const bool masked = GENERATE(false, true);
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", f32, {2, 4, 6, 7}), w = g.input("w", f32, {4, 2, 3, 2});
    Tensor offsets = g.input("offsets", f32, {2, 2 * 6 * 2, 6, 6});
    Tensor mask = masked ? g.input("mask", f32, {2, 2 * 6, 6, 6}) : Tensor();
    Tensor bias = masked ? g.input("bias", f32, {4}) : Tensor();
    g.output("y", deform_conv(x, w, offsets, mask, bias,
                              {.before = {1, 0}, .after = {1, 0}, .groups = 2, .offset_groups = 2}));
  };
  // Where a tap lies is known to an ulp of 8, a share then to a few ulps, times what neighbours differ by.
  check_agrees(device, build, {.bound = dot_bound(f32, 12 * 4 + 1, 4.0 * 2) + Bound{12 * 16 * 0x1p-21, 0}});
}

TEST_CASE("deform_conv without offsets is conv", "[conv]") {
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {1, 4, 6, 7}), w = graph->input("w", f32, {4, 2, 3, 2});
  const IntList pads = {1, 0};
  graph->output("deform", deform_conv(x, w, graph->input("o", f32, {1, 12, 6, 6}), {}, {},
                                      {.before = pads, .after = pads, .groups = 2}));
  graph->output("conv", conv(x, w, {.before = pads, .after = pads, .groups = 2}));
  REQUIRE(graph.graph().ok());
  const reference::Arrays inputs =
      inputs_of(graph.graph(), {.bound = {}, .given = {{"o", std::vector<double>(12 * 36, 0.0)}}});
  const reference::Arrays outputs = reference::run(graph.graph(), inputs, {});
  CHECK_THAT(outputs.at("deform").data, CloseTo(outputs.at("conv").data, rounding(f32)));
}

}  // namespace
}  // namespace rlxgpu::core::testing
