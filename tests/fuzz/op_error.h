// error_of: how far a device's result of one op may lie from the reference's, given the same operands
// (rlxgpu/reference/op_error.h). Tighter than what the library grants an op that it knows nothing of.
#ifndef RLXGPU_TESTS_FUZZ_OP_ERROR_H_
#define RLXGPU_TESTS_FUZZ_OP_ERROR_H_

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/elementwise/table.h"
#include "rlxgpu/kernels/matmul/gated.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/generate.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/norm/normed_linear.h"
#include "rlxgpu/kernels/pool/pool.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/resize/resize.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/op_error.h"

namespace rlxgpu::core::fuzz {

using reference::OpError;

// Ops whose inside the operands' rounding stands for, and ops that drivers rewrite.
inline bool is_one_of(const OpDef& op, std::initializer_list<const OpDef*> ops) {
  return std::find(ops.begin(), ops.end(), &op) != ops.end();
}

inline double largest_of(const reference::Array& array) {
  double largest = 0;
  for (const double v : array.data) largest = std::max(largest, std::fabs(v));
  return largest;
}

// Maps that choose, move or round numbers are exact: table.h says of all others how accurate they are.
inline OpError error_of_map(const reference::Call& call) {
  const OpDef& op = *call.op;
  const bool complex = call.operand(0).dtype == c64;
  if (&op == &kCast) return {.result_ulps = 1, .rounds = true};  // a large integer becomes either neighbour
  if (&op == &kResizeFew) {  // a sum of products; a weight of 0 does not hide an infinity
    return {.operand_ulps = static_cast<double>(call.operand(2).shape[0]), .result_ulps = 1, .fragile = true};
  }
  if (&op == &kRope) {  // sine and cosine of an angle are good to a few ulps of 1 (tests/transformer_ops_test.cc)
    return {.operand_ulps = 4, .result_ulps = 1, .absolute = 12 * 0x1p-23 * largest_of(call.operand(0))};
  }
  if (&op == &kIota) return {.operand_ulps = 1, .result_ulps = 1};
  if (is_one_of(op, {&kAdd, &kSub, &kMul, &kFma})) {
    return {.operand_ulps = complex || &op == &kFma ? 1.0 : 0.0, .result_ulps = 1, .fragile = true};
  }
  const Accuracy accuracy = accuracy_of(op);
  if (accuracy.ulps > 0) {
    return {.operand_ulps = complex ? 2.0 : 0.0,
            .result_ulps = accuracy.ulps + 0.5,
            .absolute = accuracy.absolute,
            .fragile = complex || is_one_of(op, {&kDiv, &kRecip})};
  }
  if (&op == &kAbs && complex) return {.operand_ulps = 1, .result_ulps = 4, .fragile = true};
  return {};
}

// Terms that make one number of the result.
inline double terms_of(const reference::Call& call) {
  const Shape& shape = call.operand(0).shape;
  if (is_one_of(*call.op, {&kMatmul, &kGatedMatmul, &kGroupedMatmul, &kNormedLinear}))
    return static_cast<double>(shape[shape.rank() - 1]);
  if (call.op == &kConv)
    return static_cast<double>(call.operand(1).count()) / static_cast<double>(call.operand(1).shape[0]);
  if (call.op == &kPool) return 9;  // windows of 3 x 3 at most
  if (call.op == &kAttention) {     // products of a score, and keys
    const AttentionSizes sizes(shape, call.operand(1).shape, call.operand(2).shape, call.attr(0) != 0);
    return static_cast<double>(sizes.size + sizes.keys.extent);
  }
  if (is_one_of(*call.op, {&kLayerNorm, &kRmsNorm})) {
    return static_cast<double>(shape.count(static_cast<int>(call.attr(0)), static_cast<int>(call.attr(1))));
  }
  if (call.operand(0).count() > call.result().count())
    return static_cast<double>(call.operand(0).count()) /
           std::max<double>(1, static_cast<double>(call.result().count()));
  double longest = 1;  // softmax, scans, scatters: at most one axis, or all updates
  for (int axis = 0; axis < shape.rank(); ++axis) longest = std::max(longest, static_cast<double>(shape[axis]));
  return call.operands.size() > 2 ? std::max(longest, static_cast<double>(call.operand(2).count())) : longest;
}

// Kernels add n terms up in some order. The driver's logarithm is only good to an absolute error.
inline OpError error_of_kernel(const reference::Call& call) {
  const OpDef& op = *call.op;
  if (is_one_of(op, {&kReduceMax, &kReduceMin, &kArgmax, &kArgmin, &kCummax, &kCummin, &kArgsort})) return {};
  if (&op == &kPool && call.attr(0) == static_cast<int64_t>(PoolKind::max)) return {};
  const bool scatters = is_one_of(op, {&kScatterElements, &kScatterNd});
  if (scatters && call.attr(0) != static_cast<int64_t>(Scatter::add) &&
      call.attr(0) != static_cast<int64_t>(Scatter::mul))
    return {};
  const bool exponential =
      is_one_of(op, {&kSoftmax, &kLogSoftmax, &kLogSumExp, &kAttention, &kGatedMatmul, &kNormedLinear});
  return {.operand_ulps = 0.5 + 0.5 * std::sqrt(fuzz::terms_of(call)),
          .result_ulps = exponential ? 6.0 : 1.0,
          .absolute = exponential ? 4 * 0x1p-24 : 0.0};
}

inline OpError error_of(const reference::Call& call) {
  return call.op->at != nullptr ? error_of_map(call) : error_of_kernel(call);
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_OP_ERROR_H_
