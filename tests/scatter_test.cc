#include "rlxgpu/kernels/scatter/scatter.h"

#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

struct Operands {
  TensorType x, indices, updates;
};

std::string error_of(const Operands& of, bool nd, Scatter mode = Scatter::replace) {
  Builder g;
  const Tensor x = g.input("x", of.x.dtype, of.x.shape),
               indices = g.input("indices", of.indices.dtype, of.indices.shape),
               updates = g.input("updates", of.updates.dtype, of.updates.shape);
  nd ? scatter_nd(x, indices, updates, mode) : scatter_elements(x, indices, updates, 1, mode);
  const std::string error(g.graph().error.view());
  return error.substr(error.rfind("): ") + 3);
}

TEST_CASE("scatter: what is wrong is said", "[scatter]") {
  CHECK(error_of({{f32, {3, 4}}, {f32, {3, 2}}, {f32, {3, 2}}}, false) == "indices are i32 or u32, not f32");
  CHECK(error_of({{f32, {3, 4}}, {i32, {3, 2}}, {f16, {3, 2}}}, false) == "updates are f16, the tensor is f32");
  CHECK(error_of({{f32, {3, 4}}, {i32, {3, 2}}, {f32, {2, 2}}}, false) == "indices and updates differ in shape");
  CHECK(error_of({{f32, {3, 4}}, {i32, {5, 2}}, {f32, {5, 2}}}, false) ==
        "axis 0 of the indices is longer than the tensor's");
  CHECK(error_of({{f32, {3}}, {i32, {3}}, {f32, {3}}}, false) == "axis 1 does not exist in rank 1");
  CHECK(error_of({{boolean, {3, 4}}, {i32, {3, 2}}, {boolean, {3, 2}}}, false, Scatter::add) ==
        "bool can be replaced only");
  CHECK(error_of({{f32, {3, 4}}, {i32, {5, 3}}, {f32, {5}}}, true) == "tuples of 3 for a tensor of rank 2");
  CHECK(error_of({{f32, {3, 4}}, {i32, {5, 1}}, {f32, {5}}}, true) == "updates must have the shape [5,4]");
}

// Mostly in range from both ends, some beyond, many twice.
std::vector<double> index_values(DType dtype, int64_t count, int64_t extent) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t v = (i * 7 + i / 3) % (2 * extent + 3) - extent - 1;
    values.push_back(static_cast<double>(dtype == u32 && v < 0 ? v + extent + 1 : v));
  }
  return values;
}

TEST_CASE("scatter_elements agrees with the reference", "[scatter][gpu]") {
  const Device device = device_or_skip();
  const Scatter mode = GENERATE(Scatter::replace, Scatter::add, Scatter::mul, Scatter::max, Scatter::min);
  for (const DType dtype : {f32, f16, i32, u32, i8, u8, boolean, c64}) {
    if (mode != Scatter::replace && (dtype == boolean || dtype == c64)) continue;
    const DType index = dtype == f16 ? u32 : i32;
    CAPTURE(static_cast<int>(mode), name_of(dtype));
    const auto build = [&](Builder& g) {
      g.output("y", scatter_elements(g.input("x", dtype, {4, 9, 3}), g.input("indices", index, {3, 20, 3}),
                                     g.input("updates", dtype, {3, 20, 3}), 1, mode));
    };
    const Bound bound = mode == Scatter::mul ? ulp_bound(dtype, 20) : sum_bound(dtype, 20, 2.0);
    check_agrees(device, build, {.bound = bound, .given = {{"indices", index_values(index, 180, 9)}}});
  }
}

struct Sizes {
  Shape x, indices;
  int axis;
  const char* why;
};

TEST_CASE("scatter_elements agrees with the reference, whatever the shapes", "[scatter][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = GENERATE(Sizes{{1}, {1}, 0, "one element"},  //
                               Sizes{{5}, {0}, 0, "nothing to do"}, Sizes{{0}, {5}, 0, "nowhere to go"},
                               Sizes{{100, 30}, {100, 2}, 1, "more elements than a workgroup"},
                               Sizes{{30, 700}, {2, 700}, -2, "the first axis, many groups"},
                               Sizes{{2, 2, 2, 3, 2, 2, 2, 2}, {2, 1, 2, 5, 2, 1, 2, 2}, 3, "eight axes"});
  CAPTURE(sizes.why);
  const int axis = normalise_axis(sizes.axis, sizes.x.rank());
  const auto build = [&](Builder& g) {
    g.output("y", scatter_add(g.input("x", f32, sizes.x), g.input("indices", i32, sizes.indices),
                              g.input("updates", f32, sizes.indices), sizes.axis));
  };
  check_agrees(device, build,
               {.bound = sum_bound(f32, sizes.indices[axis] + 1, 2.0),
                .given = {{"indices", index_values(i32, sizes.indices.count(), sizes.x[axis])}}});
}

TEST_CASE("scatter_nd agrees with the reference", "[scatter][gpu]") {
  const Device device = device_or_skip();
  const Scatter mode = GENERATE(Scatter::replace, Scatter::add, Scatter::max);
  for (const int64_t tuple : {0, 1, 2, 3}) {
    for (const DType dtype : {f32, f16, i8}) {
      CAPTURE(static_cast<int>(mode), tuple, name_of(dtype));
      Shape x = {5, 4, 6}, updates = {3, 7};
      for (int axis = static_cast<int>(tuple); axis < 3; ++axis) updates.push_back(x[axis]);
      const auto build = [&](Builder& g) {
        g.output("y", scatter_nd(g.input("x", dtype, x), g.input("indices", i32, {3, 7, tuple}),
                                 g.input("updates", dtype, updates), mode));
      };
      check_agrees(device, build,
                   {.bound = sum_bound(dtype, 22, 2.0), .given = {{"indices", index_values(i32, 21 * tuple, 5)}}});
    }
  }
}

TEST_CASE("scatter with as many updates as a run says", "[scatter][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 3.0, 8.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      const Dim some = g.extent("n", 8);
      g.output("elements",
               scatter_add(g.input("x", f32, {4, 6}), g.input("i", i32, {4, some}), g.input("u", f32, {4, some}), 1));
      g.output("nd", scatter_nd(g.input("z", f32, {4, 6}), g.input("j", i32, {some, 1}), g.input("v", f32, {some, 6})));
    };
    const auto count = static_cast<int64_t>(n);
    check_agrees(device, build,
                 {.bound = sum_bound(f32, 9, 2.0),
                  .given = {{"i", index_values(i32, 4 * count, 6)}, {"j", index_values(i32, count, 4)}},
                  .numbers = {{"n", n}}});
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
