// OpError: how far a device's result of one op may lie from the reference's, given the same operands.
//
// In ulps of f32, in which everything is computed: of the result, and of the operands, which stands for rounding inside
// the op that a result near zero does not show (a sum of n terms, a b + c, a complex product). Zero for ops that only
// choose or move numbers: there a device has to agree exactly.
//
// error_of knows no op by name: it reads what the op says of itself (graph/op.h). A test that does know its ops may
// give tighter errors (tests/fuzz/op_error.h).
#ifndef RLXGPU_REFERENCE_OP_ERROR_H_
#define RLXGPU_REFERENCE_OP_ERROR_H_

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/op.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

struct OpError {
  double operand_ulps = 0;
  double result_ulps = 0;
  double absolute = 0;
  bool rounds = false;       // to its storage type in a fused kernel, too
  bool fragile = false;      // WGSL lets drivers reckon that nothing is infinite or NaN: x - x is 0, x / 0 anything
  bool keeps_exact = false;  // a result that f32 holds exactly is not off: 2 + 3, a mask, max(x, 0)
};

inline bool is_real_or_complex(DType dtype) { return is_float(dtype) || dtype == c64; }

// The types of a call, as the functions of an OpDef read them.
inline rlxgpu::core::Call types_of(const Call& call) {
  rlxgpu::core::Call types;
  types.op = call.op;
  types.attrs = call.attrs;
  types.operand_count = static_cast<int>(call.operands.size());
  types.result_count = static_cast<int>(call.results.size());
  for (size_t k = 0; k < call.operands.size(); ++k) types.operand_types[k] = call.operands[k];
  for (size_t k = 0; k < call.results.size(); ++k) types.result_types[k] = call.results[k];
  return types;
}

// Terms that make one number of a kernel op's result: by its arithmetic, by how many elements become one, and one axis
// at least (softmax, scans).
inline double terms_of(const rlxgpu::core::Call& call) {
  const double results = std::max(1.0, static_cast<double>(call.result().shape.count()));
  const double flops = call.op->cost != nullptr ? call.op->cost(call).flops : 0;
  double terms = std::max(1.0, flops / (2 * results));
  if (call.operand_count == 0) return terms;
  const Shape& shape = call.operand(0).shape;
  terms = std::max(terms, static_cast<double>(shape.count()) / results);
  for (int axis = 0; axis < shape.rank(); ++axis) terms = std::max(terms, static_cast<double>(shape[axis]));
  return terms;
}

// Of a kernel op. Kernels add n terms up in some order: each term is off by the rounding of sums of about sqrt(n) of
// them, and of terms of one sign the sum itself by sqrt(n) roundings of either sign.
inline OpError kernel_error(const rlxgpu::core::Call& call) {
  const double root = std::sqrt(terms_of(call));
  const Accuracy& accuracy = call.op->accuracy;
  return {.operand_ulps = 0.5 + 0.5 * root, .result_ulps = accuracy.ulps + 0.25 * root, .absolute = accuracy.absolute};
}

inline OpError error_of(const Call& call) {
  const OpDef& op = *call.op;
  const bool computes = std::any_of(call.results.begin(), call.results.end(),
                                    [](const Array* y) { return is_real_or_complex(y->dtype); });
  if (!computes) return {};  // an index, a comparison: decided by operands that are what they are
  if (op.at != nullptr) {
    if (op.view != nullptr || op.reads_elsewhere || op.keeps_order) {
      if (op.reads == nullptr) return {};  // moves elements
      return {.operand_ulps = static_cast<double>(op.reads(types_of(call))), .result_ulps = op.accuracy.ulps};
    }
    const bool complex = !call.operands.empty() && call.operand(0).dtype == c64;
    return {.operand_ulps = complex ? 2.0 : 0.0,
            .result_ulps = op.accuracy.ulps,
            .absolute = op.accuracy.absolute,
            .keeps_exact = true};
  }
  return kernel_error(types_of(call));
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_OP_ERROR_H_
