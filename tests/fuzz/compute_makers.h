// Makers of ops that compute: elementwise, reductions, scans, softmax, products.
#ifndef RLXGPU_TESTS_FUZZ_COMPUTE_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_COMPUTE_MAKERS_H_

#include <cstdint>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/elementwise/table.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/transpose.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/fuzz/generator.h"
#include "tests/fuzz/op_error.h"

namespace rlxgpu::core::fuzz {

inline const Site kHere = std::source_location::current();

// Of rlxgpu/kernels/elementwise/table.h: the ops of so many operands of this type whose result is of that type.
inline std::vector<ElementwiseOp> ops_of(int operands, DType operand, DType result) {
  std::vector<ElementwiseOp> ops;
  for (const ElementwiseOp& entry : kElementwiseOps) {
    DType made = boolean;
    if (entry.operands == operands && result_of_type(entry, operand, made) && made == result) ops.push_back(entry);
  }
  return ops;
}
inline Tensor apply_entry(const ElementwiseOp& entry, Tensor a) { return apply(*entry.op, {a}, entry.attrs(), kHere); }

inline Tensor make_float_unary(Generator& f) {
  static const std::vector<ElementwiseOp> floats = ops_of(1, f32, f32), predicates = ops_of(1, f32, boolean);
  const ElementwiseOp& entry = f.random.pick(f.random.chance(0.93) ? floats : predicates);
  Tensor x = f.any_float();
  const bool positive = is_one_of(*entry.op, {&kLog, &kSqrt, &kRsqrt});
  if (positive && f.random.chance(0.7)) x = abs(x) + 0.25;
  if (is_one_of(*entry.op, {&kAsin, &kAcos}) && f.random.chance(0.7)) x = clamp(x, -0.875, 0.875);
  return apply_entry(entry, x);
}

// What networks put behind a layer. A new function is drawn by make_float_unary without being named here.
inline Tensor activate(Generator& f, Tensor x) {
  static constexpr const OpDef* kOps[] = {&kRelu,     &kSigmoid,    &kSilu, &kGelu, &kGeluTanh,
                                          &kSoftplus, &kLogSigmoid, &kMish, &kSelu, &kHardSwish};
  switch (f.random.below(6)) {
    case 0:
      return leaky_relu(x, 0.1f);
    case 1:
      return elu(x, 0.75f);
    case 2:
      return hard_sigmoid(x);
    default:
      return apply(*f.random.pick(kOps), {x}, kHere);
  }
}

inline Tensor make_activation(Generator& f) { return activate(f, f.any_float()); }

inline Tensor make_arithmetic(Generator& f) {
  static const std::vector<ElementwiseOp> all = ops_of(2, f32, f32);
  const OpDef& op = f.random.chance(0.5) ? *f.random.pick({&kAdd, &kSub, &kMul}) : *f.random.pick(all).op;
  Tensor a = f.any_float();
  const Tensor b = f.beside(a);
  if (&op == &kPow) a = abs(a) + 0.25;
  return f.random.chance(0.3) ? apply(op, {b, a}, kHere) : apply(op, {a, b}, kHere);
}

inline Tensor make_integer_op(Generator& f) {
  static const std::vector<ElementwiseOp> binary = ops_of(2, i32, i32), for_signed = ops_of(1, i32, i32),
                                          unary = ops_of(1, u32, u32);
  const Tensor a = f.any_of(f.integer_type());
  if (f.random.chance(0.2)) return apply_entry(f.random.pick(is_signed(a.dtype()) ? for_signed : unary), a);
  return apply(*f.random.pick(binary).op, {a, f.beside(a)}, kHere);
}

inline Tensor make_comparison(Generator& f) {
  static const std::vector<ElementwiseOp> all = ops_of(2, f32, boolean);
  const Tensor a = f.random.chance(0.7) ? f.any_float() : f.any_of(f.integer_type());
  return apply(*f.random.pick(all).op, {a, f.beside(a)}, kHere);
}

inline Tensor make_logic(Generator& f) {
  static const std::vector<ElementwiseOp> all = ops_of(2, boolean, boolean);
  const Tensor a = f.any_of(boolean);
  return f.random.chance(0.25) ? logical_not(a) : apply(*f.random.pick(all).op, {a, f.beside(a)}, kHere);
}

inline Tensor make_where(Generator& f) {
  const Tensor a = f.any(), b = f.beside(a);
  return apply(kWhere, {f.beside({a, b}, boolean), a, b}, kHere);
}

inline Tensor make_clamp(Generator& f) {
  const Tensor x = f.random.chance(0.7) ? f.any_float() : f.any_of(f.integer_type());
  const OpDef& op = f.random.chance(0.5) ? kClamp : kFma;
  const Tensor low = f.beside(x);
  return apply(op, {x, low, f.beside({x, low}, x.dtype())}, kHere);
}

inline Tensor make_cast(Generator& f) {
  const Tensor x = f.any();
  return cast(x, x.dtype() == c64 ? c64 : f.any_type());
}

inline Tensor make_complex(Generator& f) {
  const Tensor z = f.random.chance(0.5) ? f.any_of(c64) : complex(f.any_of(f32), 0.5);
  switch (f.random.below(6)) {
    case 0:
      return real(z);
    case 1:
      return imag(z);
    case 2:
      return abs(z);
    case 3:
      return conj(z);
    default:
      return apply(*f.random.pick({&kAdd, &kSub, &kMul, &kDiv}), {z, f.beside(z)}, kHere);
  }
}

inline Axes some_axes(Generator& f, Tensor x) {
  Axes axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    if (f.random.chance(0.5)) axes.axis[axes.count++] = f.random.chance(0.5) ? axis : axis - x.shape().rank();
  }
  return axes;  // none: all
}

inline bool one_run_time_axis(Tensor x) {
  int axes = 0;
  for (int axis = 0; axis < x.shape().rank(); ++axis) axes += x.shape().symbol(axis) >= 0;
  return axes <= 1;
}

inline Tensor make_reduction(Generator& f) {
  static constexpr const OpDef* kAll_[] = {&kSum, &kSum, &kProd, &kReduceMax, &kReduceMin};
  static constexpr const OpDef* kFloats[] = {&kMean, &kL1, &kL2, &kSumSquare, &kLogSumExp};
  const int64_t roll = f.random.below(8);
  const Tensor x = roll == 0 ? f.any_of(boolean) : roll == 1 ? f.any_of(f.integer_type()) : f.any_float();
  if (!one_run_time_axis(x)) return x;
  const OpDef& op = roll == 0  ? (f.random.chance(0.5) ? kAny : kAll)
                    : roll < 5 ? *f.random.pick(kAll_)
                               : *f.random.pick(kFloats);
  return reduce(op, x, some_axes(f, x), {.keep_dims = f.random.chance(0.5)}, kHere);
}

inline Tensor make_arg(Generator& f) {
  const Tensor x = f.any_with_axis();
  if (x.dtype() == boolean || x.dtype() == c64) return x;
  const int axis = f.axis_of(x);
  if (x.shape()[axis] == 0 || x.shape().symbol(axis) >= 0) return x;  // an empty row has no greatest element
  return f.random.chance(0.5) ? argmax(x, axis, {.keep_dims = f.random.chance(0.5)})
                              : argmin(x, axis, {.keep_dims = f.random.chance(0.5)});
}

inline Tensor make_softmax(Generator& f) {
  const Tensor x = f.any_float();
  if (x.shape().rank() == 0) return x;
  const int axis = f.random.chance(0.6) ? -1 : f.axis_of(x);
  return f.random.chance(0.7) ? softmax(x, axis) : log_softmax(x, axis);
}

inline Tensor make_scan(Generator& f) {
  const Tensor x = f.random.chance(0.8) ? f.any_float() : f.any_of(f.integer_type());
  if (x.shape().rank() == 0) return x;
  const ScanOptions options = {.exclusive = f.random.chance(0.3), .reverse = f.random.chance(0.3)};
  const int axis = f.axis_of(x);
  switch (f.random.below(4)) {
    case 0:
      return cumprod(x, axis, options);
    case 1:
      return cummax(x, axis, options);
    case 2:
      return cummin(x, axis, options);
    default:
      return cumsum(x, axis, options);
  }
}

inline Tensor make_matmul(Generator& f) {
  const bool whole = f.random.chance(0.15);
  const Tensor a = whole ? f.any_of(f.integer_type()) : f.any_float();
  const int rank = a.shape().rank();
  if (rank == 0) return a;
  const DType dtype = whole ? a.dtype() : f.random.chance(0.7) ? a.dtype() : f.float_type();
  const Dim k = a.shape().dim(rank - 1), n = f.random.pick({1, 2, 5, 17});
  switch (f.random.below(4)) {
    case 0:
      return matmul(a, f.source(dtype, {k}));
    case 1:
      return matmul(a, transpose(f.source(dtype, {n, k}), IntList{1, 0}));
    case 2: {
      if (rank < 3) return matmul(a, f.source(dtype, {k, n}));
      Shape batched = f.narrower(a.shape());
      while (batched.rank() < 2) batched.push_back(1);
      batched.set(batched.rank() - 2, k);
      batched.set(batched.rank() - 1, n);
      return matmul(a, f.source(dtype, batched));
    }
    default:
      return matmul(a, f.source(dtype, {k, n}));
  }
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_COMPUTE_MAKERS_H_
