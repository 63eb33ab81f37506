#include "rlxgpu/kernels/softmax/softmax.h"

#include <cmath>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/slice.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("softmax: what is wrong is said", "[softmax]") {
  Builder g;
  softmax(g.input("x", f32, {2, 3}), 2);
  CHECK(std::string(g.graph().error.view()).ends_with(": softmax([2,3]): axis 2 does not exist in rank 2"));
  Builder h;
  log_softmax(h.input("x", i32, {2, 3}));
  CHECK(std::string(h.graph().error.view()).ends_with(": log_softmax(i32[2,3]): needs a float, not i32"));
}

// The exponential costs 3 ulps and its argument an ulp of 4; the sum of n of them and the division a few more; the
// logarithm 2^-21 (WGSL).
Bound softmax_bound(DType dtype, int64_t n) { return sum_bound(dtype, n, 0) + Bound{0, 8 * 0x1p-23}; }
Bound log_softmax_bound(DType dtype, int64_t n) { return sum_bound(dtype, n, 0) + Bound{0x1p-21 + 4 * 0x1p-23, 0}; }

struct Sizes {
  Shape x;
  int axis;
  const char* why;
};

TEST_CASE("softmax and log_softmax agree with the reference", "[softmax][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes =
      GENERATE(Sizes{{1}, 0, "one element"},  //
               Sizes{{3, 0}, 1, "empty rows"}, Sizes{{0, 3}, 1, "no rows"}, Sizes{{100, 3}, 1, "short rows"},
               Sizes{{5, 129}, -1, "one more than a power of two"}, Sizes{{11, 35}, -1, "no whole vectors"},
               Sizes{{7, 64}, -1, "whole vectors"}, Sizes{{3, 1, 4}, -1, "one vector"},
               Sizes{{2, 900}, 1, "many vectors"}, Sizes{{2, 5000}, 1, "long rows"}, Sizes{{70, 33}, 0, "columns"},
               Sizes{{4, 9, 6}, 1, "the middle"}, Sizes{{2, 1, 3, 2, 5, 2, 1, 2}, 4, "eight axes"});
  const DType dtype = GENERATE(f32, f16, bf16);
  CAPTURE(sizes.why, name_of(dtype));
  const int64_t n = sizes.x[normalise_axis(sizes.axis, sizes.x.rank())];
  if (dtype != f32 && n != 129 && n != 64) return;
  check_every_variant(device, kSoftmax,
                      [&](Builder& g) { g.output("y", softmax(g.input("x", dtype, sizes.x), sizes.axis)); },
                      {.bound = softmax_bound(dtype, n)});
  check_every_variant(device, kLogSoftmax,
                      [&](Builder& g) { g.output("y", log_softmax(g.input("x", dtype, sizes.x), sizes.axis)); },
                      {.bound = log_softmax_bound(dtype, n)});
}

TEST_CASE("softmax of special numbers", "[softmax][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> x = {nan,  1, 2,    1,     2, nan,  inf,  1,    2,    -inf, -inf, -inf,  -inf,  1,    2, 1,
                                 -inf, 2, 1e38, -1e38, 0, 3e38, 3e38, -inf, 1000, 999,  0,    -3e38, -3e38, -3e38};
  const auto build = [&](Builder& g) {
    Tensor t = g.input("x", f32, {10, 3});
    g.output("softmax", softmax(t));
    g.output("log_softmax", log_softmax(t));
  };
  check_agrees(device, build, {.bound = log_softmax_bound(f32, 3) + softmax_bound(f32, 3), .given = {{"x", x}}});
  for (const int64_t width : {4, 35}) {  // in vectors, whole and not: what is beyond the third weighs nothing
    CAPTURE(width);
    std::vector<double> wider;
    for (size_t i = 0; i < x.size(); i += 3) {
      wider.insert(wider.end(), x.begin() + static_cast<ptrdiff_t>(i), x.begin() + static_cast<ptrdiff_t>(i) + 3);
      wider.insert(wider.end(), static_cast<size_t>(width - 3), -inf);
    }
    const auto build_wider = [&](Builder& g) {
      Tensor t = g.input("x", f32, {10, width});
      g.output("softmax", softmax(t));
      g.output("log_softmax", log_softmax(t));
    };
    check_agrees(device, build_wider,
                 {.bound = log_softmax_bound(f32, width) + softmax_bound(f32, width),
                  .choices = {{"softmax", "vectors"}, {"log_softmax", "vectors"}},
                  .given = {{"x", wider}}});
  }
}

TEST_CASE("what stands before and after softmax joins its kernel", "[softmax][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", f32, {6, 40});
    Tensor mask = g.input("mask", f32, {40});
    g.output("y", softmax(x * 0.125f + mask) * 2.0f);
  };
  CHECK(compiled(build).steps.size() == 1);
  check_agrees(device, build, {.bound = softmax_bound(f32, 40)});
}

TEST_CASE("of a softmax only the front is kept", "[softmax][gpu]") {
  const Device device = device_or_skip();
  const auto build = [&](Builder& g) { g.output("y", narrow(softmax(g.input("x", f32, {40})), 0, 0, 33)); };
  check_agrees(device, build, {.bound = softmax_bound(f32, 40)});
}

TEST_CASE("softmax over run-time extents", "[softmax][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 1.0, 7.0, 64.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      Dim extent = g.extent("n", 64);
      g.output("last", softmax(g.input("x", f32, {5, extent})));
      g.output("first", softmax(g.input("z", f32, {extent, 5})));
    };
    check_agrees(device, build, {.bound = softmax_bound(f32, 64), .numbers = {{"n", n}}});
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
