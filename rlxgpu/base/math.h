// square_root: std::sqrt is no constant expression in C++20, and graphs are built inside the compiler.
#ifndef RLXGPU_BASE_MATH_H_
#define RLXGPU_BASE_MATH_H_

#include "rlxgpu/base/cpp20.h"

namespace rlxgpu::core {

// The root of x >= 0, to a unit or two in the last place; 0 for anything else.
constexpr double square_root(double x) {
  if (!(x > 0)) return 0;
  double scale = 1;  // x = y * scale^2 with y in [1, 4)
  while (x >= 4) x /= 4, scale *= 2;
  while (x < 1) x *= 4, scale /= 2;
  double root = 0.5 * (x + 1);
  for (int i = 0; i < 6; ++i) root = 0.5 * (root + x / root);
  return root * scale;
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::square_root;
}  // namespace rlxgpu

#endif  // RLXGPU_BASE_MATH_H_
