// A few values of the references that anyone can check by hand. No GPU.
#include <cmath>
#include <vector>

#include "catch2/catch_approx.hpp"
#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/reference/interpreter.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Approx;
using Step = Tensor (*)(Tensor, Tensor);

// step(a, b) of two numbers of a dtype.
double value_of(Step step, double a, double b = 0, DType dtype = f32) {
  Builder g;
  g.output("y", step(g.input("a", dtype, {}), g.input("b", dtype, {})));
  return reference::run(g.graph(),
                        {{"a", reference::array_of(dtype, {}, {a})}, {"b", reference::array_of(dtype, {}, {b})}})
      .at("y")[0];
}

TEST_CASE("activations at known points") {
  CHECK(value_of([](Tensor a, Tensor) { return gelu(a); }, 1) == Approx(0.8413447461));
  CHECK(value_of([](Tensor a, Tensor) { return gelu_tanh(a); }, 1) == Approx(0.8411919906));
  CHECK(value_of([](Tensor a, Tensor) { return silu(a); }, 1) == Approx(0.7310585786));
  CHECK(value_of([](Tensor a, Tensor) { return softplus(a); }, 1000) == 1000);
  CHECK(value_of([](Tensor a, Tensor) { return log_sigmoid(a); }, -1000) == -1000);
  CHECK(value_of([](Tensor a, Tensor) { return mish(a); }, 1) == Approx(0.8650983883));
  CHECK(value_of([](Tensor a, Tensor) { return selu(a); }, -1) == Approx(-1.1113307378));
  CHECK(value_of([](Tensor a, Tensor) { return elu(a, 2.0f); }, -1) == Approx(2 * std::expm1(-1)));
  CHECK(value_of([](Tensor a, Tensor) { return hard_swish(a); }, 1) == Approx(2.0 / 3));
  CHECK(value_of([](Tensor a, Tensor) { return hard_sigmoid(a); }, 1) == Approx(0.7));
  CHECK(value_of([](Tensor a, Tensor) { return leaky_relu(a); }, -2) == Approx(-0.02));
}

TEST_CASE("rounding and remainders") {
  const Step mod_step = [](Tensor a, Tensor b) { return mod(a, b); };
  const Step div_step = [](Tensor a, Tensor b) { return a / b; };
  CHECK(value_of([](Tensor a, Tensor) { return round(a); }, 2.5) == 2);
  CHECK(value_of([](Tensor a, Tensor) { return round(a); }, -3.5) == -4);
  CHECK(value_of(mod_step, -1, 3) == 2);
  CHECK(value_of(mod_step, 1, -3) == -2);
  CHECK(value_of(mod_step, -1, 3, i32) == 2);
  CHECK(value_of(mod_step, 7, 0, i32) == 0);
  CHECK(value_of(div_step, -7, 2, i32) == -3);
  CHECK(value_of(div_step, 7, 0, i32) == 7);
}

TEST_CASE("integers wrap") {
  const Step mul_step = [](Tensor a, Tensor b) { return a * b; };
  CHECK(value_of(mul_step, 2147483647, 2147483647, i32) == 1);
  CHECK(value_of(mul_step, 4294967295.0, 4294967295.0, u32) == 1);
  CHECK(value_of(mul_step, 100, 100, i8) == 16);
  CHECK(value_of(mul_step, 200, 200, u8) == 64);
  CHECK(value_of([](Tensor a, Tensor) { return neg(a); }, -128, 0, i8) == -128);
  CHECK(value_of([](Tensor a, Tensor) { return bit_not(a); }, 1, 0, u8) == 254);
  CHECK(value_of([](Tensor a, Tensor b) { return shift_left(a, b); }, 1, 33, u32) == 2);
  CHECK(value_of([](Tensor a, Tensor b) { return shift_right(a, b); }, -8, 1, i32) == -4);
}

TEST_CASE("casts saturate from floats, wrap from integers") {
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, i32); }, -1.9) == -1);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, i32); }, 1e20) == 2147483647);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, i8); }, -300) == -128);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, u32); }, -5) == 0);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, i32); }, std::nan("")) == 0);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, i8); }, 300, 0, i32) == 44);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, u32); }, -1, 0, i32) == 4294967295.0);
  CHECK(value_of([](Tensor a, Tensor) { return cast(a, boolean); }, 0.25) == 1);
  CHECK(value_of([](Tensor a, Tensor) { return cast(cast(a, f16), f32); }, 1.0001) == 1);
}

TEST_CASE("NaN passes through max and min") {
  CHECK(std::isnan(value_of([](Tensor a, Tensor b) { return max(a, b); }, std::nan(""), 1)));
  CHECK(std::isnan(value_of([](Tensor a, Tensor b) { return min(b, a); }, std::nan(""), 1)));
  CHECK(std::isnan(value_of([](Tensor a, Tensor) { return relu(a); }, std::nan(""))));
  CHECK(std::isnan(value_of([](Tensor a, Tensor) { return clamp(a, 0.0f, 1.0f); }, std::nan(""))));
}

}  // namespace
}  // namespace rlxgpu::core::testing
