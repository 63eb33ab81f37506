// with_small_tiles: the device's target, so that kernels for matrix units are small.
//
// A subgroup multiplies 2 x 2 fragments instead of 4 x 4, for want of workgroup memory. Software adapters take ten
// seconds to compile the latter, and how operands are read is the same.
#ifndef RLXGPU_TESTS_SUPPORT_SMALL_TILES_H_
#define RLXGPU_TESTS_SUPPORT_SMALL_TILES_H_

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/matmul/subgroup_matrix.h"
#include "rlxgpu/runtime/device.h"

namespace rlxgpu::core::testing {

inline Target with_small_tiles(const Device& device, DType dtype) {
  Target target = device.target();
  const subgroup_matrix::Plan plan = subgroup_matrix::plan_for(dtype, target);
  if (plan.shape.m == 0) return target;  // no units
  target.max_workgroup_bytes = static_cast<uint32_t>(plan.workgroup_bytes() - 1);
  REQUIRE(subgroup_matrix::plan_for(dtype, target).each == 2);
  return target;
}

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_SMALL_TILES_H_
