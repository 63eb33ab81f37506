#include "rlxgpu/kernels/scatter/scatter.h"

#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/scatter/bincount.h"
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

TEST_CASE("sums of integers are the same by atomics and one after another", "[scatter][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = GENERATE(Sizes{{64}, {9000}, 0, "few places, added up by workgroups first"},
                               Sizes{{300}, {70}, 0, "more places than updates"},
                               Sizes{{0}, {5}, 0, "nowhere to go"}, Sizes{{5}, {0}, 0, "nothing to do"},
                               Sizes{{3, 7, 33}, {2, 40, 31}, 1, "ragged"},
                               Sizes{{2, 2, 2, 3, 2, 2, 2, 2}, {2, 1, 2, 5, 2, 1, 2, 2}, 3, "eight axes"});
  for (const DType dtype : {i32, u32, i8, u8}) {
    const DType index = dtype == u32 ? u32 : i32;
    CAPTURE(sizes.why, name_of(dtype));
    const auto build = [&](Builder& g) {
      const Tensor x = g.input("x", dtype, sizes.x), updates = g.input("updates", dtype, sizes.indices);
      g.output("y", scatter_add(x, g.input("indices", index, sizes.indices), updates, sizes.axis));
    };
    const int64_t count = sizes.indices.count(), extent = sizes.x[sizes.axis];
    std::vector<double> large(static_cast<size_t>(count));  // sums wrap
    for (size_t i = 0; i < large.size(); ++i)
      large[i] = dtype == i8 ? 100 - static_cast<double>(i % 37) : 113 + static_cast<double>(i % 41);
    check_every_variant(device, kScatterElements, build,
                        {.bound = {}, .given = {{"indices", index_values(index, count, extent)}, {"updates", large}}});
  }
}

TEST_CASE("integer sums with as many updates as a run says, and maps on all sides", "[scatter][gpu]") {
  const Device device = device_or_skip();
  for (const double n : {0.0, 3.0, 8.0}) {
    CAPTURE(n);
    const auto build = [&](Builder& g) {
      const Dim some = g.extent("n", 8);
      const Tensor x = g.input("x", i32, {4, 6}), indices = g.input("i", i32, {4, some});
      g.output("y", scatter_add(x * 2, indices, g.input("u", i32, {4, some}) + 1, 1) - 5);
    };
    check_every_variant(
        device, kScatterElements, build,
        {.bound = {}, .given = {{"i", index_values(i32, 4 * static_cast<int64_t>(n), 6)}}, .numbers = {{"n", n}}});
  }
}

TEST_CASE("bincount counts, and adds weights", "[scatter][gpu]") {
  const Device device = device_or_skip();
  const DType dtype = GENERATE(i32, u32, u8, i8);
  CAPTURE(name_of(dtype));
  DynamicGraph graph;
  graph->output("counts", bincount(graph->input("x", dtype, {7, 300}), 64));
  graph->output("mass", bincount(graph->input("z", dtype, {90}), 5, graph->input("weights", f32, {90})));
  auto counter = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(counter.ok());
  std::vector<int32_t> counts(64);
  std::vector<float> mass(5), weights(90);
  const auto count = [&](auto element) {
    using T = decltype(element);
    std::vector<T> x(2100), z(90);
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<T>(i * i % 71 - (dtype == i8 || dtype == i32 ? 5 : 0));
      if (static_cast<int64_t>(x[i]) >= 0 && static_cast<int64_t>(x[i]) < 64) ++counts[static_cast<size_t>(x[i])];
    }
    for (size_t i = 0; i < z.size(); ++i) {
      z[i] = static_cast<T>(i % 7), weights[i] = static_cast<float>(i) * 0.25f;
      if (z[i] < 5) mass[static_cast<size_t>(z[i])] += weights[i];
    }
    REQUIRE(counter->set("x", x).ok());
    REQUIRE(counter->set("z", z).ok());
  };
  if (dtype == i32) count(int32_t());
  if (dtype == u32) count(uint32_t());
  if (dtype == u8) count(uint8_t());
  if (dtype == i8) count(int8_t());
  REQUIRE(counter->set("weights", weights).ok());
  REQUIRE(counter->run().wait().ok());
  CHECK(counter->get<int32_t>("counts").value() == counts);
  CHECK(counter->get<float>("mass").value() == mass);  // quarters, so exact
}

TEST_CASE("bincount says what it does not count", "[scatter]") {
  Builder g, h;
  bincount(g.input("x", f32, {4}), 3);
  CHECK(g.graph().error.view().ends_with("bincount(f32[4]): counts integers"));
  bincount(h.input("x", i32, {4}), 0);
  CHECK(h.graph().error.view().ends_with("bincount([4]): 0 bins"));
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
