// resize, grid_sample and affine_grid.
#include "rlxgpu/kernels/resize/resize.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/compile/freeze.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/resize/grid_sample.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("resize: what is wrong is said", "[resize]") {
  const auto x = [](Builder& g, DType dtype = f32) { return g.input("x", dtype, {4, 6}); };
  CHECK(message_of([&](Builder& g) { resize(x(g), {{.axis = 2, .size = 3}}); }) ==
        "resize([4,6]): axis 2 does not exist");
  CHECK(message_of([&](Builder& g) { resize(x(g), {{.axis = 1, .size = -3}}); }) ==
        "resize([4,6]): axis 1 would have -3 elements");
  CHECK(message_of([&](Builder& g) { resize(g.input("x", f32, {4, 0}), {{.axis = 1, .size = 3}}); }) ==
        "resize([4,0]): axis 1 is empty");
  CHECK(message_of([&](Builder& g) { resize(g.input("x", f32, {g.extent("n", 4)}), {{.axis = 0, .size = 3}}); }) ==
        "resize([<=4]): axis 0 has a run-time extent");
  CHECK(message_of([&](Builder& g) { resize(x(g), {{.axis = 1, .size = 1 << 24}}, {.mode = ResizeMode::cubic}); }) ==
        "resize([4,6]): axis 1 needs a table of 67108864 numbers; at most 16777216 are supported");
  CHECK(message_of([&](Builder& g) {
          resize(x(g), {{.axis = 1, .size = 3, .scale = 1e-300}}, {.antialias = true});
        }).starts_with("resize([4,6]): axis 1 needs a table of "));
  CHECK(message_of([&](Builder& g) { resize(x(g, i32), {{.axis = 1, .size = 3}}); }) ==
        "resize(i32[4,6], i32[3], [2,3]): linear and cubic take floats, not i32: cast the operand first");
  CHECK(message_of([&](Builder& g) {
          grid_sample(g.input("x", f32, {1, 2, 3, 4}), g.input("g", f32, {1, 5, 5, 3}));
        }) == "grid_sample([1,2,3,4], [1,5,5,3]): places of 3 coordinates, 2 are needed");
  CHECK(message_of([&](Builder& g) { affine_grid(g.input("t", f32, {1, 2, 2}), {5, 5}); }) ==
        "affine_grid([1,2,2]): a grid of 2 axes needs maps of (batch, 2, 3)");
}

// While compiling, so that a number which an integer does not hold is an error.
static_assert([] {
  const Taps taps =
      resize_taps({.axis = 0, .size = 2, .begin = -1e30, .end = 1e300}, 4, {.coordinates = ResizeCoordinates::crop});
  return !taps.inside[0] && !taps.inside[1] && taps.first[0] < 0 && taps.first[1] > 4;
}());

// What resize does to 1 2 3 4, worked out by hand from ONNX's formulas.
TEST_CASE("numbers worked out by hand", "[resize][gpu]") {
  struct Case {
    const char* why;
    ResizeAxis axis;
    ResizeOptions options;
    std::vector<double> expected;
  };
  using Mode = ResizeMode;
  using At = ResizeCoordinates;
  const std::vector<Case> cases = {
      {"linear", {0, 8}, {}, {1, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75, 4}},
      {"down", {0, 2}, {}, {1.5, 3.5}},
      {"align_corners", {0, 7}, {.coordinates = At::align_corners}, {1, 1.5, 2, 2.5, 3, 3.5, 4}},
      {"asymmetric", {0, 8}, {.coordinates = At::asymmetric}, {1, 1.5, 2, 2.5, 3, 3.5, 4, 4}},
      {"pytorch: one", {0, 1}, {.coordinates = At::pytorch_half_pixel}, {1}},
      {"half_pixel: one", {0, 1}, {}, {2.5}},
      {"symmetric", {0, 2, 0.6}, {.coordinates = At::half_pixel_symmetric}, {1.6666666666666667, 3.3333333333333335}},
      {"crop", {0, 3, 0, 0.5, 1.5}, {.coordinates = At::crop, .extrapolation = 9}, {2.5, 4, 9}},
      {"repeats", {0, 8}, {.mode = Mode::nearest}, {1, 1, 2, 2, 3, 3, 4, 4}},
      {"skips",
       {0, 2},
       {.mode = Mode::nearest, .coordinates = At::asymmetric, .rounding = ResizeRounding::floor},
       {1, 3}},
      {"halves down", {0, 2}, {.mode = Mode::nearest}, {1, 3}},
      {"halves up", {0, 2}, {.mode = Mode::nearest, .rounding = ResizeRounding::prefer_ceil}, {2, 4}},
      {"ceil",
       {0, 6},
       {.mode = Mode::nearest, .coordinates = At::asymmetric, .rounding = ResizeRounding::ceil},
       {1, 2, 3, 3, 4, 4}},
      {"looked up",
       {0, 6},
       {.mode = Mode::nearest, .coordinates = At::asymmetric, .rounding = ResizeRounding::floor},
       {1, 1, 2, 3, 3, 4}},
      {"cubic", {0, 2}, {.mode = Mode::cubic}, {1.40625, 3.59375}},
      {"cubic, nothing outside",
       {0, 2},
       {.mode = Mode::cubic, .exclude_outside = true},
       {1.3714285714285714, 3.6285714285714286}},
      {"linear, antialias", {0, 2}, {.antialias = true}, {1.625, 3.375}},
  };
  const Device device = device_or_skip();
  for (const Case& c : cases) {
    CAPTURE(c.why);
    DynamicGraph graph;
    graph->output("y", resize(graph->input("x", f32, {4}), {c.axis}, c.options));
    auto executable = Executable<DynamicGraph>::create(device, graph);
    REQUIRE(executable.status().ToString() == "OK");
    REQUIRE(executable->set("x", std::vector<float>{1, 2, 3, 4}).ok());
    executable->run();
    const auto y = executable->get<float>("y");
    REQUIRE(y.ok());
    CHECK_THAT(std::vector<double>(y->begin(), y->end()), CloseTo(c.expected, ulp_bound(f32, 8)));
  }
}

struct Sizes {
  Shape x;
  std::vector<ResizeAxis> axes;
  const char* why;
};

TEST_CASE("resize agrees with the reference", "[resize][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = GENERATE(
      Sizes{{1}, {{0, 3}}, "one element"}, Sizes{{3, 0}, {{0, 5}}, "empty"}, Sizes{{5, 7}, {{1, 0}}, "to nothing"},
      Sizes{{2, 3, 5, 7}, {{2, 11}, {3, 13}}, "an image"}, Sizes{{2, 3, 40, 9}, {{2, 17}, {3, 4}}, "an image, smaller"},
      Sizes{{3, 4, 5}, {{0, 5}, {1, 7}, {-1, 3}}, "every axis"},
      Sizes{{1, 1, 300, 200}, {{2, 450}, {3, 300}}, "many groups"},
      Sizes{{1, 2, 1, 3, 1, 2, 1, 2}, {{3, 6}, {7, 5}}, "eight axes"});
  const ResizeMode mode = GENERATE(ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic);
  for (const DType dtype : {f32, f16, bf16, u8}) {
    if ((dtype == u8) != (mode == ResizeMode::nearest) && dtype != f32) continue;
    if (dtype != f32 && sizes.x.rank() != 4) continue;
    CAPTURE(sizes.why, static_cast<int>(mode), name_of(dtype));
    const auto build = [&](Builder& g) {
      g.output("y", resize(g.input("x", dtype, sizes.x), sizes.axes, {.mode = mode}));
    };
    // The reference stores elements between the axes; they are at most 2, or 1.4^2 times that with cubic weights.
    const Bound between = {2 * 4 * rounding(dtype).relative, 0};
    check_agrees(device, build, {.bound = sum_bound(dtype, 64, 4.0) + between});
  }
}

TEST_CASE("a wide kernel, and what stands around resize", "[resize][gpu]") {
  const Device device = device_or_skip();
  const ResizeMode mode = GENERATE(ResizeMode::linear, ResizeMode::cubic);
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", f32, {3, 50, 6});
    g.output("wide", abs(resize(exp(x), {{1, 7}}, {.mode = mode, .antialias = true})));
    g.output("few", abs(resize(exp(x), {{1, 60}, {2, 5}}, {.mode = mode, .exclude_outside = true})));
    g.output("crop", resize(x, {{1, 20, 0, 0.2, 1.3}, {2, 5, 0, -0.5, 0.9}},
                            {.mode = mode, .coordinates = ResizeCoordinates::crop, .extrapolation = -3}));
  };
  check_agrees(device, build, {.bound = sum_bound(f32, 40, 16.0)});
}

struct Image {
  static constexpr void build(Builder& g) {
    g.output("y",
             relu(resize(g.input("x", f32, {1, 3, 224, 224}), {{.axis = 2, .size = 320}, {.axis = 3, .size = 320}})));
  }
};
static_assert(Frozen<Image, kPortable>::view.steps.size() == 1);  // with tables that the compiler made

TEST_CASE("an image is resized by one kernel, with what is before and after it", "[resize]") {
  DynamicGraph graph;
  graph->output("y", relu(resize(graph->input("x", f32, {1, 3, 8, 8}) * 2.0f, {{2, 16}, {3, 16}})));
  CHECK(compiled(graph.graph()).steps.size() == 1);
}

// Places away from halves and whole numbers, where the device may take the neighbour.
std::vector<double> places(int64_t count) {
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i) all.push_back(static_cast<double>(i * 37 % 101) / 101 * 3.2 - 1.6 + 0.00713);
  return all;
}

TEST_CASE("grid_sample agrees with the reference", "[resize][gpu]") {
  const Device device = device_or_skip();
  const ResizeMode mode = GENERATE(ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic);
  const GridPadding padding = GENERATE(GridPadding::zeros, GridPadding::border, GridPadding::reflection);
  CAPTURE(static_cast<int>(mode), static_cast<int>(padding));
  const auto build = [&](Builder& g) {
    const Tensor x = g.input("x", f32, {2, 3, 5, 6}), grid = g.param("grid", f32, {2, 4, 7, 2});
    g.output("corners", grid_sample(x, grid, {mode, padding, true}));
    g.output("edges", grid_sample(x, grid, {mode, padding, false}));
    if (mode == ResizeMode::cubic) return;
    g.output("volume", grid_sample(g.input("v", f32, {1, 2, 3, 4, 5}), g.param("volume grid", f32, {1, 2, 3, 4, 3}),
                                   {mode, padding, false}));
  };
  // A place is off by a few ulps of 6, of which an element changes by 8 at most; cubic weights by twice that.
  check_agrees(device, build,
               {.bound = sum_bound(f32, 16, 4.0) + Bound{16 * 8 * 6 * 0x1p-23, 0},
                .given = {{"grid", places(112)}, {"volume grid", places(72)}}});
}

TEST_CASE("affine grids", "[resize][gpu]") {
  const Device device = device_or_skip();
  const bool align = GENERATE(false, true);
  const auto build = [&](Builder& g) {
    g.output("plane", affine_grid(g.input("t", f32, {3, 2, 3}), {4, 5}, align));
    g.output("space", affine_grid(g.input("u", f32, {1, 3, 4}), {2, 1, 3}, align));
    g.output("half",
             grid_sample(g.input("x", f16, {1, 2, 3, 4}), affine_grid(g.input("v", f16, {1, 2, 3}), {5, 5}, align),
                         {.padding = GridPadding::border}));
  };
  // With border and f16, the slope of x (4 an element) times the error of a place.
  check_agrees(device, build, {.bound = sum_bound(f32, 4, 2.0) + rounding(f16) + Bound{4 * 4 * 8 * 0x1p-10, 0}});
}

}  // namespace
}  // namespace rlxgpu::core::testing
