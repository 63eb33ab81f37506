// Small floats and integers of fewer than 8 bits.
#include "rlxgpu/kernels/packed/packed.h"

#include <cmath>
#include <string>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("packed: what is wrong is said", "[packed]") {
  CHECK(message_of([](Builder& g) { to_small_float(g.input("x", i32, {4}), SmallFloat::e5m2); }) ==
        "to_small_float(i32[4]): takes floats, not i32: cast the operand first");
  CHECK(message_of([](Builder& g) { from_small_float(g.input("x", i8, {4}), SmallFloat::e5m2); }) ==
        "from_small_float(i8[4]): takes codes in u8, not i8");
  CHECK(message_of([](Builder& g) { pack_bits(g.input("x", u8, {4}), 3); }) ==
        "pack_bits(u8[4]): 3 bits: 2 or 4 are possible");
  CHECK(message_of([](Builder& g) { unpack_bits(g.input("x", u8, {4}), {3, 3}, 4, i8); }) ==
        "unpack_bits(u8[4]): [3,3] of 4 bits needs 5 bytes");
}

// Values of the specifications' tables.
TEST_CASE("codes that everybody knows", "[packed]") {
  using F = SmallFloat;
  CHECK(small_float_value(0x7e, F::e4m3fn) == 448);
  CHECK(small_float_value(0x01, F::e4m3fn) == 0x1p-9);
  CHECK(small_float_value(0x38, F::e4m3fn) == 1);
  CHECK(small_float_value(0x7f, F::e4m3fnuz) == 240);
  CHECK(small_float_value(0x7b, F::e5m2) == 57344);
  CHECK(small_float_value(0x7f, F::e5m2fnuz) == 57344);
  CHECK(small_float_value(0x0f, F::e2m1) == -6);
  CHECK(small_float_value(0x01, F::e2m1) == 0.5);
  CHECK(small_float_value(0x80, F::e8m0) == 2);
  CHECK(reference::small_float_code(464, F::e4m3fn, false) == 0x7e);  // a tie: the even code
  CHECK(reference::small_float_code(465, F::e4m3fn, false) == 0x7f);
  CHECK(reference::small_float_code(-HUGE_VAL, F::e4m3fn, true) == 0xfe);
  CHECK(reference::small_float_code(61440, F::e5m2, false) == 0x7c);  // a tie whose even neighbour is infinite
  CHECK(reference::small_float_code(-0x1p-20, F::e4m3fnuz, true) == 0);
}

TEST_CASE("every code of every format", "[packed][gpu]") {
  const Device device = device_or_skip();
  std::vector<double> codes, nibbles;
  for (int c = 0; c < 256; ++c) codes.push_back(c), nibbles.push_back(c % 16);
  for (const DType dtype : {f32, bf16}) {
    check_agrees(device,
                 [&](Builder& g) {
                   Tensor x = g.input("codes", u8, {256});
                   g.output("e4m3fn", from_small_float(x, SmallFloat::e4m3fn, dtype)),
                       g.output("e4m3fnuz", from_small_float(x, SmallFloat::e4m3fnuz, dtype));
                   g.output("e5m2", from_small_float(x, SmallFloat::e5m2, dtype)),
                       g.output("e5m2fnuz", from_small_float(x, SmallFloat::e5m2fnuz, dtype));
                   g.output("e8m0", from_small_float(x, SmallFloat::e8m0, dtype)),
                       g.output("e2m1", from_small_float(g.input("nibbles", u8, {256}), SmallFloat::e2m1, dtype));
                 },
                 {.bound = {least_normal(f32), 0}, .given = {{"codes", codes}, {"nibbles", nibbles}}});
  }
}

TEST_CASE("rounding to every format", "[packed][gpu]") {
  const Device device = device_or_skip();
  const SmallFloat format =
      GENERATE(SmallFloat::e4m3fn, SmallFloat::e4m3fnuz, SmallFloat::e5m2, SmallFloat::e5m2fnuz, SmallFloat::e2m1);
  std::vector<double> x = {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e30, -1e30, 1e-30, 0x1p-126};
  const uint32_t most = format_of(format).most;
  for (uint32_t code = 0; code < most; ++code) {  // every number, every half way, and just beside it
    const double low = small_float_value(code, format),
                 high = small_float_value(code + 1, format), middle = (low + high) / 2;
    for (const double v : {low, middle, std::nextafter(static_cast<float>(middle), 1e9f) + 0.0,
                           std::nextafter(static_cast<float>(middle), -1e9f) + 0.0}) {
      x.push_back(v), x.push_back(-v);
    }
  }
  const double top = small_float_value(most, format),
               step = top - small_float_value(most - 1, format);
  for (const double v : {top, top + step / 2, top + step / 4, top + step, 1.5 * top, 3 * top})
    x.push_back(v), x.push_back(-v);
  const auto n = static_cast<int64_t>(x.size());
  CAPTURE(static_cast<int>(format));
  check_agrees(device,
               [&](Builder& g) {
                 Tensor in = g.input("x", f32, {n});
                 g.output("saturated", to_small_float(in, format)), g.output("not", to_small_float(in, format, false));
               },
               {.bound = {}, .given = {{"x", x}}});
  check_agrees(device, [&](Builder& g) { g.output("half", to_small_float(g.input("x", f16, {40}), format)); },
               {.bound = {}});
}

TEST_CASE("powers of two", "[packed][gpu]") {
  const Device device = device_or_skip();
  const PowerRounding rounding = GENERATE(PowerRounding::down, PowerRounding::up, PowerRounding::nearest);
  const std::vector<double> x = {1,         1.25,      1.5,      1.75,         2,  3,        0x1p-126,     0x1p127,
                                 0x1.8p127, 0x1.cp127, HUGE_VAL, std::nan(""), -5, 0x1.8p-3, 0x1.7ffffep-3};
  check_agrees(device,
               [&](Builder& g) {
                 Tensor in = g.input("x", f32, {15});
                 g.output("saturated", to_small_float(in, SmallFloat::e8m0, true, rounding)),
                     g.output("not", to_small_float(in, SmallFloat::e8m0, false, rounding));
               },
               {.bound = {}, .given = {{"x", x}}});
}

TEST_CASE("several numbers in a byte", "[packed][gpu]") {
  const Device device = device_or_skip();
  const int bits = GENERATE(2, 4);
  for (const DType dtype : {i8, u8}) {
    for (const Shape& shape : {Shape{1}, Shape{3, 5}, Shape{4, 8}, Shape{0}, Shape{}}) {
      check_agrees(device,
                   [&](Builder& g) {
                     const Tensor packed = pack_bits(g.input("x", dtype, shape), bits);
                     g.output("packed", packed), g.output("unpacked", unpack_bits(packed, shape, bits, dtype));
                   },
                   {.bound = {}});
    }
  }
}

}  // namespace
}  // namespace rlxgpu::core::testing
