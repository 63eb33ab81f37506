#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/linalg/cholesky.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("cholesky: what is wrong is said", "[linalg]") {
  CHECK(message_of([](Builder& g) { cholesky(g.input("x", f32, {2, 3})); }) ==
        "cholesky([2,3]): takes square matrices of known extents, 1 to 512");
  CHECK(message_of([](Builder& g) { cholesky(g.input("x", i32, {3, 3})); }) ==
        "cholesky(i32[3,3]): takes floats, not i32");
}

// Symmetric positive definite: small elements whose absolute sum in a row is less than the diagonal, which is n.
std::vector<double> definite(int64_t count, int64_t n) {
  std::vector<double> all;
  for (int64_t m = 0; m < count; ++m) {
    for (int64_t i = 0; i < n * n; ++i) {
      const int64_t row = i / n, col = i % n;
      all.push_back(row == col ? static_cast<double>(n)
                               : static_cast<double>((row * col + row + col + m) % 17 - 8) / 16);
    }
  }
  return all;
}

// Backward error: l l^T is x up to (n + 1) roundings of sqrt(x_ii x_jj) = n, a few more where roots and quotients are not
// correctly rounded, and n for the product that the test makes.
TEST_CASE("cholesky: the factor times its transpose is the matrix", "[linalg][gpu]") {
  const Device device = device_or_skip();
  const int64_t count = GENERATE(0, 1, 3), n = GENERATE(1, 2, 9, 33, 130);
  CAPTURE(count, n);
  const std::vector<double> x = definite(count, n);
  const double size = static_cast<double>(n);
  check_agrees(device, [=](Builder& g) {
    const Factored factored = cholesky(g.input("x", f32, {count, n, n}));
    g.output("product", matmul(factored.lower, transpose(factored.lower, {0, 2, 1})));
    g.output("flags", factored.flags);
  }, {.bound = {(2 * size + 16) * 0x1p-23 * size, 0}, .given = {{"x", x}},
      .judge = [=](const reference::Arrays&) -> std::map<std::string, std::vector<double>> {
        return {{"product", x}, {"flags", std::vector<double>(static_cast<size_t>(count))}};
      }});
}

TEST_CASE("factors by hand; what is not positive definite is NaN and has a flag", "[linalg][gpu]") {
  const Device device = device_or_skip();
  const double nan = std::nan(""), inf = HUGE_VAL;
  const std::vector<double> x = {4, 99, 2,   5, 1, 2, 2, 1, -1, 0,   0, 1, 1,  0,
                                 0, 0,  nan, 0, 0, 1, 1, 0, 0,  inf, 9, 0, -3, 17};
  check_agrees(device, [](Builder& g) {
    const Factored factored = cholesky(g.input("x", f32, {7, 2, 2}));
    g.output("y", factored.lower), g.output("flags", factored.flags);
  }, {.bound = ulp_bound(f32, 8), .given = {{"x", x}},
      .judge = [=](const reference::Arrays&) -> std::map<std::string, std::vector<double>> {
        std::vector<double> y = {2, 0, 1, 2};
        y.resize(24, nan);
        for (const double v : {3, 0, -1, 4}) y.push_back(v);
        return {{"y", y}, {"flags", {0, 2, 1, 2, 1, 2, 0}}};
      }});
}

}  // namespace
}  // namespace rlxgpu::core::testing
