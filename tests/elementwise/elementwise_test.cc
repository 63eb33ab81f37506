// Elementwise ops on the device: every type, broadcasting, fused or one by one.
#include "rlxgpu/kernels/elementwise/elementwise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/table.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST_CASE("broadcasting reads the right elements", "[gpu][elementwise]") {
  const auto [a, b, why] = GENERATE(table<Shape, Shape, std::string>({
      {{7}, {7}, "same shape"},
      {{3, 5}, {5}, "a row"},
      {{3, 5}, {3, 1}, "a column"},
      {{4, 1, 3}, {5, 1}, "both stretch"},
      {{2, 3}, {}, "one number"},
      {{2, 1, 2, 1, 2, 1, 2, 3}, {1, 3, 1, 2, 1, 2, 1, 3}, "rank 8"},
      {{0, 3}, {3}, "nothing"},
      {{257, 129}, {129}, "more than a workgroup"},
  }));
  const DType dtype = GENERATE(f32, f16, bf16, i32, u8, c64);
  const bool fuse = GENERATE(true, false);
  CAPTURE(why, name_of(dtype), fuse);
  check_agrees(device_or_skip(), [&](Builder& g) { g.output("y", g.input("a", dtype, a) + g.input("b", dtype, b)); },
               {.bound = rounding(dtype), .fuse = fuse});
}

TEST_CASE("integer arithmetic wraps in its type, fused or not", "[gpu][elementwise]") {
  const DType dtype = GENERATE(i32, u32, i8, u8);
  const bool fuse = GENERATE(true, false);
  CAPTURE(name_of(dtype), fuse);
  const bool is_narrow = bytes_of(dtype) == 1;
  std::vector<double> a, b;
  for (const double low : {0.0, 1.0, 2.0, 3.0, 7.0, 100.0, 127.0}) {
    for (const double sign : {1.0, -1.0}) {
      a.push_back(is_signed(dtype) ? sign * low : sign > 0 ? low : (is_narrow ? 255 : 4294967295.0) - low);
    }
  }
  const double least = dtype == i32 ? -2147483648.0 : dtype == i8 ? -128 : 0;
  a.push_back(least);
  std::vector<double> left, right;
  for (const double x : a) {
    for (const double y : a) left.push_back(x), right.push_back(y);
  }
  const Shape shape = {static_cast<int64_t>(left.size())};
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("a", dtype, shape), y = g.input("b", dtype, shape);
                 g.output("chain", (x * y + x) * 3 - y);
                 g.output("div", x / y);
                 g.output("mod", mod(x, y));
                 g.output("max", max(x, y));
                 g.output("clamp", clamp(x, 2, 9));
                 g.output("fma", fma(x, y, y) / 2);
                 g.output("and", bit_and(x, y));
                 g.output("or", bit_or(x, y));
                 g.output("xor", bit_xor(x, bit_not(y)));
                 g.output("shl", shift_left(x, y) / 2);
                 g.output("shr", shift_right(x, y));
                 g.output("abs", abs(x));
                 g.output("lt", lt(x, y));
                 g.output("ge", ge(x, y));
                 g.output("eq", eq(x, y));
                 if (is_signed(dtype)) {
                   g.output("neg", (-x) / 2);
                   g.output("sign", sign(x));
                   g.output("relu", relu(x));
                 }
               },
               {.bound = {}, .given = {{"a", left}, {"b", right}}, .fuse = fuse});
}

// Six ops a graph: kernels of tens of functions take long to compile.
TEST_CASE("every op of every type that it takes", "[gpu][elementwise]") {
  const DType dtype = GENERATE(f16, bf16, i32, u32, i8, u8, boolean, c64);
  CAPTURE(name_of(dtype));
  std::vector<ElementwiseOp> taken;
  double ulps = 0, absolute = 0;
  for (const ElementwiseOp& entry : kElementwiseOps) {
    DType result = boolean;
    if (!result_of_type(entry, dtype, result)) continue;
    taken.push_back(entry);
    ulps = std::max(ulps, entry.accuracy.ulps + 0.5), absolute = std::max(absolute, entry.accuracy.absolute);
  }
  REQUIRE(taken.size() > 3);
  for (size_t first = 0; first < taken.size(); first += 6) {
    const auto build = [&](Builder& g) {
      const Tensor operands[] = {g.input("a", dtype, {5, 7}), g.input("b", dtype, {7}), g.input("c", dtype, {5, 1})};
      for (size_t i = first; i < std::min(first + 6, taken.size()); ++i) {
        const auto [op, count, accuracy, example, attributes] = taken[i];
        g.output(op->name, Tensor(&g, g.append(*op, {operands, static_cast<size_t>(count)}, taken[i].attrs(), Site())));
      }
    };
    // Parts of a complex number have the errors of the whole number: of a product, at most 8.
    check_agrees(device_or_skip(), build,
                 {.bound = ulp_bound(dtype, ulps) + Bound{absolute + (dtype == c64 ? 8 * 0x1p-21 : 0), 0}});
  }
}

TEST_CASE("cast between every two types", "[gpu][elementwise]") {
  const DType from = GENERATE(f32, f16, bf16, i32, u32, i8, u8, boolean);
  const DType to = GENERATE(f32, f16, bf16, i32, u32, i8, u8, boolean, c64);
  CAPTURE(name_of(from), name_of(to));
  std::vector<double> values;
  if (is_float(from)) {
    values = {0,    -0.0,  0.4,  -0.6,       1.5,          -1.5,      127.9,      128,
              -129, 255.5, 300,  65504,      65520,        1e-5,      6e-8,       3e9,
              -3e9, 5e9,   1e38, 2147483520, 4294967040.0, kInfinity, -kInfinity, std::nan("")};
  } else if (is_integer(from)) {
    values = {0, 1, 5, 100, 127};
    if (is_signed(from)) values.insert(values.end(), {-1, -5, -128});
    if (from != i8) values.insert(values.end(), {128, 255});
    if (bytes_of(from) == 4) values.insert(values.end(), {256, 300, 16777217, 2147483647});
    if (from == u32) values.insert(values.end(), {4294967295.0, 2147483648.0});
    if (from == i32) values.insert(values.end(), {-300, -2147483648.0});
  } else {
    values = {0, 1, 1};
  }
  const Shape shape = {static_cast<int64_t>(values.size())};
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("x", from, shape);
                 g.output("y", cast(x, to));
                 if (to != c64) g.output("there and back", cast(cast(x, to), from));
               },
               {.bound = {}, .given = {{"x", values}}});
}

TEST_CASE("comparisons and logic, NaN included", "[gpu][elementwise]") {
  const double values[] = {0, -0.0, 1, -1, kInfinity, -kInfinity, std::nan("")};
  std::vector<double> a, b;
  for (const double x : values) {
    for (const double y : values) a.push_back(x), b.push_back(y);
  }
  const Shape shape = {static_cast<int64_t>(a.size())};
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("a", f32, shape), y = g.input("b", f32, shape);
                 const Tensor less = lt(x, y), same = eq(x, y);
                 g.output("eq", same);
                 g.output("ne", ne(x, y));
                 g.output("lt", less);
                 g.output("le", le(x, y));
                 g.output("gt", gt(x, y));
                 g.output("ge", ge(x, y));
                 g.output("self", ne(x, x));
                 g.output("nan", is_nan(x));
                 g.output("inf", is_inf(x));
                 g.output("and", logical_and(less, same));
                 g.output("or", logical_or(less, same));
                 g.output("xor", logical_xor(less, logical_not(same)));
                 g.output("where", where(less, x, y));
                 g.output("clamp", clamp(x, y, 0.5f));
                 g.output("max", max(x, y));
                 g.output("relu", relu(x));
               },
               {.bound = {}, .given = {{"a", a}, {"b", b}}});
}

TEST_CASE("complex arithmetic", "[gpu][elementwise]") {
  // The error of a part is small beside the number, not beside the part: inputs are at most 2.9 in magnitude.
  const Bound bound = {0x1p-20, 0x1p-21};
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("a", c64, {33, 7}), y = g.input("b", c64, {7});
                 g.output("mul", x * y);
                 g.output("conj", conj(x) - y);
                 g.output("neg", -x + 1.0f);
                 g.output("abs", abs(x));
                 g.output("re", real(x) * imag(y));
                 g.output("eq", eq(x, x));
                 g.output("ne", ne(x, y));
                 g.output("unit", x / where(gt(abs(x), 0.1f), x, 1.0f));
                 g.output("complex", complex(imag(x), real(x)));
               },
               {.bound = bound});
}

TEST_CASE("a long chain of many types is one kernel and still right", "[gpu][elementwise]") {
  const DType dtype = GENERATE(f32, f16, bf16);
  const bool fuse = GENERATE(true, false);
  CAPTURE(name_of(dtype), fuse);
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Tensor x = g.input("x", dtype, {5, 67}), w = g.input("w", dtype, {67}),
                              c = g.input("c", dtype, {5, 1});
                 Tensor y = gelu(x * w + c) * sigmoid(c);
                 y = where(gt(y, 0.5f), tanh(y), y * 0.5f) + cast(cast(round(x), i32) * 2, dtype) * 0.25f;
                 g.output("y", y);
               },
               {.bound = Bound{16 * epsilon_of(dtype), 8 * epsilon_of(dtype)}, .fuse = fuse});
}

TEST_CASE("run-time extents pass through", "[gpu][elementwise]") {
  const double n = GENERATE(0.0, 1.0, 5.0, 8.0);
  CAPTURE(n);
  check_agrees(device_or_skip(),
               [&](Builder& g) {
                 const Dim rows = g.extent("n", 8);
                 g.output("y",
                          exp(g.input("x", f32, {rows, 33})) * g.input("w", f32, {33}) + g.input("c", f32, {rows, 1}));
               },
               {.bound = ulp_bound(f32, 4) + Bound{0x1p-20, 0}, .numbers = {{"n", n}}});
}

}  // namespace
}  // namespace rlxgpu::core::testing
