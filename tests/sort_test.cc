#include "rlxgpu/kernels/sort/sort.h"

#include <cmath>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("sort: what is wrong is said", "[sort]") {
  CHECK(message_of([](Builder& g) { sort(g.input("x", f32, {2, 3}), 2); }) ==
        "sort([2,3]): axis 2 does not exist in rank 2");
  CHECK(message_of([](Builder& g) { argsort(g.input("x", boolean, {3})); }) ==
        "argsort(bool[3]): needs a real number, not bool");
  CHECK(message_of([](Builder& g) { topk(g.input("x", f32, {2, 3}), 4); }) == "topk([2,3]): takes 4 of 3 elements");
  CHECK(message_of([](Builder& g) { topk(g.input("x", f32, {2, 3}), -1); }) == "topk: -1 elements are wanted");
}

struct Case {
  Shape x;
  int axis;
  int64_t k;
  const char* why;
};

// Numbers of which many are equal, so that the order of equal ones shows.
Build sorts(const Case& sizes, DType dtype) {
  return [=](Builder& g) {
    Tensor x = g.input("x", dtype, sizes.x);
    g.output("up", argsort(x, sizes.axis));
    g.output("down", sort(x, sizes.axis, {.descending = true}));
    const TopK best = topk(x, sizes.k, sizes.axis), least = topk(x, sizes.k, sizes.axis, false);
    g.output("best", best.values), g.output("where", best.indices), g.output("least", least.indices);
  };
}

TEST_CASE("argsort, sort and topk agree with the reference", "[sort][gpu]") {
  const Device device = device_or_skip();
  const Case sizes =
      GENERATE(Case{{1}, 0, 1, "one element"}, Case{{3, 0}, 1, 0, "empty rows"}, Case{{0, 3}, 1, 2, "no rows"},
               Case{{7, 2}, 1, 1, "pairs"}, Case{{5, 3}, 1, 0, "none of three"},
               Case{{3, 65}, -1, 64, "one more than a block"}, Case{{2, 700}, 1, 5, "many runs, few kept"},
               Case{{70, 33}, 0, 33, "columns"}, Case{{2, 1, 3, 2, 5, 2, 1, 2}, 4, 3, "eight axes"});
  CAPTURE(sizes.why);
  for (const DType dtype : {f32, i8}) {
    check_every_variant(device, kArgsort, sorts(sizes, dtype), {.bound = {}});
  }
}

TEST_CASE("argsort takes every real type", "[sort][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(f32, f16, bf16, i32, u32, i8, u8);
  CAPTURE(name_of(dtype));
  check_agrees(device, sorts({{2, 100}, 1, 7, ""}, dtype), {.bound = {}});
}

TEST_CASE("rows longer than a block are merged run by run", "[sort][gpu]") {
  const Device device = device_or_skip();
  check_agrees(device, sorts({{2, 5000}, 1, 4100, ""}, f32), {.bound = {}});
  check_agrees(device, sorts({{1, 33000}, 1, 50, ""}, f16), {.bound = {}});
}

TEST_CASE("signs of zero, infinities and NaN have their places", "[sort][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> x = {1, nan, -inf, 0, -0.0, inf, -1, nan, 1e-40, -1e-40, 0, 3e38};
  check_agrees(device, [](Builder& g) {
    Tensor t = g.input("x", f32, {12});
    g.output("up", argsort(t));
    g.output("down", argsort(t, 0, {.descending = true}));
  }, {.bound = {}, .given = {{"x", x}}});
  const std::vector<double> whole = {2147483647.0, -2147483648.0, 0, -1, 1};
  check_agrees(device, [](Builder& g) { g.output("y", sort(g.input("x", i32, {5}))); },
               {.bound = {}, .given = {{"x", whole}}});
}

TEST_CASE("maps before argsort join its kernel, and rows may have a run-time length", "[sort][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  graph->output("y", argsort(abs(graph->input("x", f32, {4, 50}) - 1.0f)));
  CHECK(compiled(graph.graph()).steps.size() == 1);
  for (const double n : {0.0, 1.0, 63.0, 90.0}) {
    CAPTURE(n);
    check_agrees(device, [](Builder& g) {
      const Dim extent = g.extent("n", 90);
      g.output("y", argsort(abs(g.input("x", f32, {3, extent}))));
      g.output("z", argsort(g.input("t", f32, {extent, 3})));
    }, {.bound = {}, .numbers = {{"n", n}}});
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
