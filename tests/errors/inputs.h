// The tensors that cases.inc makes its mistakes with.
#ifndef TESTS_ERRORS_INPUTS_H_
#define TESTS_ERRORS_INPUTS_H_

#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core::wrong {

struct Inputs {
  Tensor x, y, v, number;  // f32
  Tensor half, i, u, i8s, b, c;
  Tensor part, empty;
  Dim n;

  constexpr explicit Inputs(Builder& g) {
    x = g.input("x", f32, {128, 768});
    y = g.input("y", f32, {512, 3072});
    v = g.input("v", f32, {5});
    number = g.input("number", f32, {});
    half = g.input("half", f16, {128, 768});
    i = g.input("i", i32, {128, 768});
    u = g.input("u", u32, {4});
    i8s = g.input("i8s", i8, {4, 6});
    b = g.input("b", boolean, {128, 768});
    c = g.input("c", c64, {3});
    n = g.extent("n", 16);
    part = g.input("part", f32, {n, 4});
    empty = g.input("empty", f32, {0, 4});
  }
};

}  // namespace rlxgpu::core::wrong

#endif  // TESTS_ERRORS_INPUTS_H_
