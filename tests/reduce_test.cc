#include "rlxgpu/kernels/reduce/reduce.h"

#include <cmath>
#include <limits>
#include <source_location>
#include <string>
#include <string_view>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr Shape shape_of_sum(Shape x, Axes axes, bool keep_dims) {
  Builder g;
  return sum(g.input("x", f32, x), axes, {keep_dims}).shape();
}

template <typename Op>
std::string error_of(DType dtype, const Shape& shape, const Op& op) {
  Builder g;
  op(g.input("x", dtype, shape));
  const std::string error(g.graph().error.view());
  return error.substr(error.find(": ") + 2);
}

TEST_CASE("reduce: shapes", "[reduce]") {
  STATIC_REQUIRE(shape_of_sum({2, 3, 4}, {}, false) == Shape{});
  STATIC_REQUIRE(shape_of_sum({2, 3, 4}, {}, true) == Shape{1, 1, 1});
  STATIC_REQUIRE(shape_of_sum({2, 3, 4}, -1, false) == Shape{2, 3});
  STATIC_REQUIRE(shape_of_sum({2, 3, 4}, {0, 2}, true) == Shape{1, 3, 1});
  STATIC_REQUIRE(shape_of_sum({}, {}, false) == Shape{});
}

TEST_CASE("reduce: what is wrong is said", "[reduce]") {
  CHECK(error_of(f32, {2, 3}, [](Tensor x) { return sum(x, 2); }) == "sum([2,3]): axis 2 does not exist in rank 2");
  CHECK(error_of(f32, {2, 3}, [](Tensor x) { return sum(x, {1, -1}); }) == "sum([2,3]): axis 1 is given twice");
  CHECK(error_of(i32, {2, 3}, [](Tensor x) { return mean(x); }) == "mean(i32[2,3]): needs a float, not i32");
  CHECK(error_of(f32, {2, 3}, [](Tensor x) { return any(x); }) == "any([2,3]): needs a bool tensor, not f32");
  CHECK(error_of(boolean, {2, 3}, [](Tensor x) { return sum(x); }) == "sum(bool[2,3]): needs a real number, not bool");
  CHECK(error_of(f32, {2, 0}, [](Tensor x) { return argmax(x); }) == "argmax([2,0]): axis -1 is empty");
}

struct Form {
  const OpDef* op;
  bool floats_only;
  Tensor make(Tensor x, const Axes& axes) const { return reduce(*op, x, axes, {}, std::source_location::current()); }
};
const Form kForms[] = {
    {&kSum, false}, {&kMean, true}, {&kProd, false},     {&kReduceMax, false}, {&kReduceMin, false},
    {&kL1, true},   {&kL2, true},   {&kSumSquare, true}, {&kLogSumExp, true},
};

// Terms are at most 4 (squares of 2); a product of n factors costs n ulps; the logarithm 2^-21 (WGSL).
Bound bound_of(const Form& form, DType dtype, int64_t n) {
  if (form.op == &kProd) return ulp_bound(dtype, static_cast<double>(n));
  if (form.op == &kMean) return sum_bound(dtype, n, 2.0 / static_cast<double>(n > 0 ? n : 1));
  if (form.op == &kLogSumExp) return sum_bound(dtype, n, 0) + Bound{0x1p-21, 0};
  return sum_bound(dtype, n, 4.0);
}

TEST_CASE("reductions agree with the reference, whatever the types", "[reduce][gpu]") {
  const Device device = device_or_skip();
  for (const Form& form : kForms) {
    for (const DType dtype : {f32, f16, bf16, i32, u32, i8, u8}) {
      if (form.floats_only && !is_float(dtype)) continue;
      CAPTURE(form.op->name, name_of(dtype));
      check_agrees(device, [&](Builder& g) { g.output("y", form.make(g.input("x", dtype, {5, 37}), 1)); },
                   {.bound = bound_of(form, dtype, 37)});
    }
  }
}

struct Sizes {
  Shape x;
  Axes axes;
  const char* why;
};

TEST_CASE("reductions agree with the reference, whatever the shapes", "[reduce][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes =
      GENERATE(Sizes{{}, {}, "a scalar"},  //
               Sizes{{1, 1}, 0, "one element"}, Sizes{{7, 0}, 1, "over nothing"}, Sizes{{0, 7}, 1, "of nothing"},
               Sizes{{300, 3}, 1, "many short rows"}, Sizes{{3, 1000}, 1, "long rows"},
               Sizes{{1000, 3}, 0, "few columns"}, Sizes{{70, 65}, 0, "columns"},
               Sizes{{6, 5, 4, 3}, {0, 2}, "every other axis"}, Sizes{{6, 5, 4, 3}, {1, 3}, "the others"},
               Sizes{{2, 1, 3, 2, 1, 2, 3, 2}, {1, 3, 5, 7}, "eight axes"}, Sizes{{1, 20000}, 1, "one row, split"},
               Sizes{{30000, 3}, 0, "three columns, split"}, Sizes{{70000, 2}, 1, "more rows than a grid is wide"});
  CAPTURE(sizes.why);
  const int64_t all = sizes.x.count();
  const int64_t kept = shape_of_sum(sizes.x, sizes.axes, false).count();
  const int64_t n = kept > 0 ? all / kept : 0;
  for (const Form& form : {kForms[0], kForms[1], kForms[3], kForms[8]}) {
    CAPTURE(form.op->name);
    check_agrees(device, [&](Builder& g) { g.output("y", form.make(g.input("x", f32, sizes.x), sizes.axes)); },
                 {.bound = bound_of(form, f32, n)});
  }
}

TEST_CASE("split and whole rows agree", "[reduce][gpu]") {
  const Device device = device_or_skip();
  for (const Form& form : kForms) {
    if (form.op == &kProd) continue;  // 2^9000 and 0
    CAPTURE(form.op->name);
    check_every_variant(device, *form.op,
                        [&](Builder& g) { g.output("y", form.make(g.input("x", f32, {2, 9001}), 1)); },
                        {.bound = bound_of(form, f32, 9001)});
  }
  check_every_variant(device, kArgmax, [&](Builder& g) { g.output("y", argmax(g.input("x", f16, {2, 9001}))); },
                      {.bound = {}});
  check_every_variant(device, kArgmin, [&](Builder& g) { g.output("y", argmin(g.input("x", i8, {9001, 2}), 0)); },
                      {.bound = {}});
}

TEST_CASE("any and all", "[reduce][gpu]") {
  const Device device = device_or_skip();
  for (const int64_t n : {0, 1, 2, 5, 9000}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      Tensor x = g.input("x", boolean, {3, n});
      g.output("any", any(x, 1));
      g.output("all", all(x, 1));
    };
    check_agrees(device, build, {.bound = {}});
  }
}

TEST_CASE("argmax and argmin give the first of equals", "[reduce][gpu]") {
  const Device device = device_or_skip();
  for (const DType dtype : {f32, f16, bf16, i32, u32, i8, u8}) {
    CAPTURE(name_of(dtype));
    const auto build = [&](Builder& g) {
      Tensor x = g.input("x", dtype, {4, 33, 5});
      g.output("max", argmax(x, 1));
      g.output("min", argmin(x, 1));
      g.output("last", argmax(x, 2, {.keep_dims = true}));
    };
    check_agrees(device, build, {.bound = {}});
  }
}

TEST_CASE("reductions of special numbers", "[reduce][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> x = {nan, 1, 2, -1, 1,    nan, 3, 0, inf, 1,    -inf, 2,    -inf, -inf, -inf,  -inf,
                                 inf, 1, 2, 3,  -inf, 1,   2, 3, 0,   -0.0, 0,    -0.0, 1000, 1001, -1000, 999};
  const auto build = [&](Builder& g) {
    Tensor t = g.input("x", f32, {8, 4});
    g.output("max", reduce_max(t, 1));
    g.output("min", reduce_min(t, 1));
    g.output("lse", log_sum_exp(t, 1));
    g.output("argmax", argmax(t, 1));
    g.output("argmin", argmin(t, 1));
  };
  check_agrees(device, build, {.bound = bound_of(kForms[8], f32, 4), .given = {{"x", x}}});
}

TEST_CASE("what stands before and after a reduction joins its kernel", "[reduce][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", f16, {20, 50});
    Tensor scale = g.input("scale", f32, {20});
    g.output("y", scale * cast(sum(x * x, 1), f32) + 1.0f);
  };
  const Program program = compiled(build);
  CHECK(program.steps.size() == 1);
  check_agrees(device, build, {.bound = sum_bound(f16, 50, 8.0) + Bound{0, 8 * 0x1p-11}});
}

TEST_CASE("reductions over run-time extents", "[reduce][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 1.0, 5.0, 20.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      Tensor x = g.input("x", f32, {6, g.extent("n", 20), 3});
      g.output("middle", sum(x, 1));
      g.output("both", mean(x, {0, 1}));
      g.output("kept", reduce_max(x, 2));
    };
    check_agrees(device, build, {.bound = sum_bound(f32, 120, 2.0), .numbers = {{"n", n}}});
  }
}

// With branches for && and ||, SwiftShader did not come to an end with this kernel.
TEST_CASE("comparisons that join a reduction are compiled without branches", "[reduce][gpu]") {
  const auto build = [](Builder& g) {
    const Tensor x = g.input("x", bf16, {18, 12}), y = g.input("y", bf16, {18, 12});
    Tensor chosen = x;
    for (int i = 0; i < 4; ++i) {
      const Tensor difference = chosen - (i == 1 ? y : chosen);
      chosen = where(gt(difference, 0.0f), difference, chosen);
    }
    g.output("sum", sum(chosen));
  };
  // The reference rounds the differences, of at most 4.
  check_agrees(device_or_skip(), build, {.bound = sum_bound(bf16, 216, 4.0) + Bound{216 * 4 * epsilon_of(bf16), 0}});
}

}  // namespace
}  // namespace rlxgpu::core::testing
