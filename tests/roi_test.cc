// Regions of images, and determinants.
#include "rlxgpu/kernels/roi/roi.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/linalg/det.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("roi, det: what is wrong is said", "[roi]") {
  const auto x = [](Builder& g) { return g.input("x", f32, {2, 3, 4, 5}); };
  CHECK(message_of([&](Builder& g) { max_roi_pool(x(g), g.input("r", f32, {2, 4}), {}); }) ==
        "max_roi_pool([2,3,4,5], [2,4]): regions must be (n, 5)");
  CHECK(message_of([&](Builder& g) { roi_align(x(g), g.input("r", f32, {2, 4}), g.input("b", i32, {3}), {}); }) ==
        "roi_align([2,3,4,5], [2,4], i32[3]): needs the image of each region, i32");
  CHECK(message_of([&](Builder& g) { det(x(g)); }) == "det([2,3,4,5]): takes square matrices of known extents");
}

// Two corners for each region, away from where a place changes the elements that it lies between.
std::vector<double> corners(int64_t count, bool with_batch) {
  std::vector<double> all;
  for (int64_t i = 0; i < count; ++i) {
    const double x = static_cast<double>(i * 5 % 7) * 0.9 + 0.113, y = static_cast<double>(i * 3 % 5) * 1.1 - 0.739;
    if (with_batch) all.push_back(static_cast<double>(i % 2));
    all.insert(all.end(),
               {x, y, x + static_cast<double>(i % 4) * 2.3 + 0.37, y + static_cast<double>(i % 3) * 3.1 + 0.21});
  }
  return all;
}

TEST_CASE("roi_align agrees with the reference", "[roi][gpu]") {
  const Device device = device_or_skip();
  const RoiOptions options =
      GENERATE(RoiOptions{.rows = 2, .cols = 3},
               RoiOptions{.rows = 3, .cols = 2, .scale = 0.5f, .samples = 2, .half_pixel = false},
               RoiOptions{.rows = 1, .cols = 1, .samples = 3, .max = true});
  for (const int64_t regions : {0, 12}) {
    const auto build = [&](Builder& g) {
      g.output("y", roi_align(g.input("x", f32, {2, 3, 6, 8}), g.input("regions", f32, {regions, 4}),
                              g.input("batches", i32, {regions}), options));
    };
    std::vector<double> batches;
    for (int64_t i = 0; i < regions; ++i) batches.push_back(static_cast<double>(i % 2));
    // A place is off by a few ulps of 8, of which an element changes by 4 at most, in both directions.
    check_agrees(device, build,
                 {.bound = sum_bound(f32, 64, 2.0) + Bound{4 * 2 * 4 * 8 * 0x1p-23, 0},
                  .given = {{"regions", corners(regions, false)}, {"batches", batches}}});
  }
}

TEST_CASE("max_roi_pool agrees with the reference", "[roi][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16);
  const auto build = [&](Builder& g) {
    g.output("y", max_roi_pool(g.input("x", dtype, {2, 3, 6, 8}), g.input("regions", f32, {9, 5}),
                               {.rows = 3, .cols = 2, .scale = 0.75f}));
  };
  check_agrees(device, build, {.bound = {}, .given = {{"regions", corners(9, true)}}});
}

TEST_CASE("det agrees with the reference", "[linalg][gpu]") {
  const Device device = device_or_skip();
  const Shape shape = GENERATE(Shape{1, 1}, Shape{2, 2}, Shape{400, 3, 3}, Shape{2, 3, 10, 10}, Shape{0, 4, 4});
  const auto n = static_cast<double>(shape[shape.rank() - 1]);
  // With pivots no factor is above 1, elements grow to 2 n at most in practice, and a determinant is a sum of products:
  // its error is n^2 ulps of the product of the rows' lengths, each at most 2 sqrt(n).
  const double scale = std::pow(2 * std::sqrt(n), n);
  check_agrees(device, [&](Builder& g) { g.output("y", det(g.input("x", f32, shape))); },
               {.bound = rounding(f32) + Bound{n * n * 0x1p-23 * scale, 0}});
}

TEST_CASE("determinants by hand", "[linalg][gpu]") {
  DynamicGraph graph;
  graph->output("y", det(graph->input("x", f32, {3, 2, 2})));
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(executable.status().ToString() == "OK");
  REQUIRE(executable->set("x", std::vector<float>{1, 2, 3, 4, 0, 1, 1, 0, 2, 4, 1, 2}).ok());
  executable->run();
  const auto y = executable->get<float>("y");
  REQUIRE(y.ok());
  CHECK_THAT(std::vector<double>(y->begin(), y->end()), CloseTo({-2, -1, 0}, Bound{1e-6, 0}));
}

}  // namespace
}  // namespace rlxgpu::core::testing
