#include "rlxgpu/kernels/pool/pool.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "tests/support/agree.h"
#include "tests/support/compiled.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr Shape pooled(Shape x, PoolOptions options) {
  Builder g;
  return max_pool(g.input("x", f32, x), options).shape();
}

TEST_CASE("pools: shapes", "[pool]") {
  STATIC_REQUIRE(pooled({1, 2, 8}, {.kernel = {3}}) == Shape{1, 2, 6});
  STATIC_REQUIRE(pooled({1, 2, 8, 9}, {.kernel = {2, 3}, .strides = {2, 2}}) == Shape{1, 2, 4, 4});
  STATIC_REQUIRE(pooled({1, 2, 6}, {.kernel = {3}, .strides = {2}, .ceil = true}) == Shape{1, 2, 3});
  STATIC_REQUIRE(pooled({1, 2, 4}, {.kernel = {1}, .strides = {2}, .ceil = true}) ==
                 Shape{1, 2, 2});  // no window beyond the end
  STATIC_REQUIRE(
      pooled({1, 1, 3, 3}, {.kernel = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .after = {1, 1}, .ceil = true}) ==
      Shape{1, 1, 2, 2});
}

TEST_CASE("pools: what is wrong is said", "[pool]") {
  CHECK(message_of([](Builder& g) { max_pool(g.input("x", f32, {1, 2, 3}), {.kernel = {4}}); }) ==
        "max_pool([1,2,3]): a window that reaches over 4 elements does not fit into 3");
  CHECK(message_of([](Builder& g) { average_pool(g.input("x", i32, {1, 2, 3}), {.kernel = {2}}); }) ==
        "average_pool(i32[1,2,3]): takes floats, not i32");
  CHECK(message_of([](Builder& g) { max_pool(g.input("x", boolean, {1, 2, 3}), {.kernel = {2}}); }) ==
        "max_pool(bool[1,2,3]): needs real numbers");
  CHECK(message_of([](Builder& g) {
          max_unpool(g.input("x", f32, {1, 2, 3}), g.input("i", f32, {1, 2, 3}), {6}, {.kernel = {2}});
        }) == "max_unpool([1,2,3], [1,2,3]): needs an index (i32) for each element");
  CHECK(message_of([](Builder& g) { lrn(g.input("x", f32, {3}), 3); }) ==
        "lrn(f32[3]): needs floats with a channel axis, and a size of 1 at least");
}

struct Case {
  Shape x;
  PoolOptions options;
};
Case any_case() {
  return GENERATE(
      Case{{2, 3, 20}, {.kernel = {3}, .strides = {2}}},
      Case{{1, 2, 7, 9}, {.kernel = {3, 2}, .before = {1, 1}, .after = {1, 0}}},
      Case{{1, 2, 7, 9},
           {.kernel = {3, 3}, .strides = {2, 3}, .dilations = {2, 1}, .before = {2, 1}, .after = {1, 2}, .ceil = true}},
      Case{{1, 2, 4, 5, 6}, {.kernel = {2, 3, 2}, .strides = {1, 2, 2}, .before = {1, 0, 1}, .after = {0, 1, 1}}},
      Case{{0, 2, 5}, {.kernel = {2}}});
}

TEST_CASE("pools agree with their references", "[pool][gpu]") {
  const Device device = device_or_skip();
  const Case c = any_case();
  const auto build = [&](Builder& g) {
    Tensor x = g.input("x", f32, c.x);
    PoolOptions pads = c.options;
    pads.count_pads = true;
    g.output("average", average_pool(x, c.options));
    g.output("average_pads", average_pool(x, pads));
    g.output("max", max_pool(x, c.options));
    g.output("l1", lp_pool(x, 1, c.options));
    g.output("l2", lp_pool(x, 2, c.options));
  };
  // A square root doubles no error; the sum's own is that of 12 terms of at most 4.
  check_agrees(device, build, {.bound = sum_bound(f32, 12, 4.0)});
  // pow: exp2(p log2 x), whose argument is below 8 and known to 2^-21.
  const auto cubes = [&](Builder& g) { g.output("l3", lp_pool(g.input("x", f32, c.x), 3, c.options)); };
  check_agrees(device, cubes, {.bound = sum_bound(f32, 12, 8.0) + Bound{0x1p-18, 0x1p-18}, .device_only = true});
}

TEST_CASE("max_pool_indices says where", "[pool][gpu]") {
  const Device device = device_or_skip();
  const Case c = any_case();
  const bool columns = GENERATE(false, true);
  const auto build = [&](Builder& g) {
    PoolOptions options = c.options;
    options.columns = columns;
    const MaxPooled pooled = max_pool_indices(g.input("x", f32, c.x), options);
    g.output("values", pooled.values);
    g.output("indices", pooled.indices);
  };
  check_agrees(device, build, {.bound = {}});
}

TEST_CASE("max pools of other types, and of what is not finite", "[pool][gpu]") {
  const Device device = device_or_skip();
  for (const DType dtype : {f16, i8, u8, i32}) {
    const auto build = [&](Builder& g) {
      const PoolOptions options = {.kernel = {3}, .before = {1}, .after = {1}};
      const MaxPooled pooled = max_pool_indices(g.input("x", dtype, {1, 2, 9}), options);
      g.output("max", max_pool(g.input("z", dtype, {1, 2, 9}), options));
      g.output("values", pooled.values);
      g.output("indices", pooled.indices);
    };
    check_agrees(device, build, {.bound = {}, .device_only = true});
  }
  const double nan = std::nan("");
  const auto special = [&](Builder& g) {
    Tensor x = g.input("x", f32, {1, 1, 8});
    const MaxPooled pooled = max_pool_indices(x, {.kernel = {2}});
    g.output("max", max_pool(x, {.kernel = {2}}));
    g.output("values", pooled.values);
    g.output("indices", pooled.indices);
  };
  check_agrees(device, special, {.bound = {}, .given = {{"x", {1, nan, nan, 2, -HUGE_VAL, -HUGE_VAL, HUGE_VAL, 3}}}});
}

TEST_CASE("max_unpool puts what max_pool found back", "[pool][gpu]") {
  const Device device = device_or_skip();
  struct Unpool {
    Shape x;
    PoolOptions options;
  };
  const Unpool c =
      GENERATE(Unpool{{2, 3, 8}, {.kernel = {2}, .strides = {2}}},
               Unpool{{1, 2, 7, 9}, {.kernel = {3, 3}, .strides = {2, 2}, .before = {1, 1}, .after = {1, 1}}},
               Unpool{{1, 1, 4, 6, 5}, {.kernel = {2, 3, 1}, .strides = {1, 2, 2}}});
  const auto build = [&](Builder& g) {
    const MaxPooled pooled = max_pool_indices(g.input("x", f32, c.x), c.options);
    IntList extents;
    for (int axis = 2; axis < c.x.rank(); ++axis) extents.push_back(c.x[axis]);
    g.output("y", max_unpool(pooled.values, pooled.indices, extents, c.options) * 2.0f);
  };
  check_agrees(device, build, {.bound = {}});
}

TEST_CASE("max_unpool of indices that come twice, or lie outside of their window", "[pool][gpu]") {
  const Device device = device_or_skip();
  const PoolOptions options = GENERATE(PoolOptions{.kernel = {3, 3}, .strides = {2, 2}},
                                       PoolOptions{.kernel = {2, 3}, .strides = {1, 2}, .dilations = {2, 1}},
                                       PoolOptions{.kernel = {3, 3}, .before = {1, 1}, .after = {1, 1}});
  const auto build = [&](Builder& g) {
    const int64_t height = 5, width = 7;
    const Shape places = pooled({1, 2, height, width}, options);
    g.output("y", max_unpool(g.input("x", f32, places), abs(g.input("i", i32, places)), {height, width}, options));
  };
  check_agrees(device, build, {.bound = {}});
}

TEST_CASE("pools over all of an image, and lrn", "[pool][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    Tensor x = g.input("x", f32, {2, 3, 5, 7});
    g.output("average", global_average_pool(x));
    g.output("max", global_max_pool(x));
    g.output("l1", global_lp_pool(x, 1));
    g.output("l2", global_lp_pool(x, 2));
  };
  check_agrees(device, build, {.bound = sum_bound(f32, 35, 4.0)});
  // The power: exp2(-beta log2 s), whose argument is below 8 and known to 2^-21.
  const auto power = [](Builder& g) {
    g.output("l3", global_lp_pool(g.input("x", f32, {2, 3, 5, 7}), 3));
    g.output("lrn", lrn(g.input("z", f32, {2, 6, 3, 4}), 3, {.alpha = 0.5f, .beta = 0.7f, .bias = 2}));
    g.output("even", lrn(g.input("v", f16, {1, 5, 4}), 4));
  };
  check_agrees(device, power, {.bound = sum_bound(f16, 35, 8.0 * 0x1p-3) + Bound{0, 0x1p-17}});
}

TEST_CASE("what follows a pool joins its kernel", "[pool][gpu]") {
  const Device device = device_or_skip();
  const auto build = [](Builder& g) {
    g.output("y", relu(average_pool(g.input("x", f32, {1, 2, 9}), {.kernel = {3}}) + g.input("b", f32, {2, 1})));
  };
  CHECK(compiled(build).steps.size() == 1);
  check_agrees(device, build, {.bound = sum_bound(f32, 4, 2.0)});
}

}  // namespace
}  // namespace rlxgpu::core::testing
