// kElementwiseOps: every op of this family, for those who test or draw from all of them. accuracy_of(op): how far an
// elementwise op on f32 may be from its reference, for every finite argument.
//
//   for (const ElementwiseOp& entry : kElementwiseOps) ...      |result - exact| <= ulps * ulp(exact) + absolute
//
// Given + - * that round to nearest, division to 2.5 ulps and sqrt to 2.5 ulps (what WGSL asks of adapters); on
// adapters that divide exactly the errors are about half as large. Results below 2^-126 may be flushed to zero.
// Measured on every adapter by tests/elementwise/accuracy_test.cc. Which types an op takes, its `infer` says.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_TABLE_H_
#define RLXGPU_KERNELS_ELEMENTWISE_TABLE_H_

#include <array>
#include <cstdint>
#include <span>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"

namespace rlxgpu::core {

struct ElementwiseOp {
  const OpDef* op = nullptr;
  int operands = 1;
  Accuracy accuracy = {0};  // exact
  std::array<int64_t, 2> example = {};  // attributes to call it with
  size_t attributes = 0;

  constexpr std::span<const int64_t> attrs() const { return {example.data(), attributes}; }
};

// Where an absolute error is given, what is computed is a product that leaves the range of f32 before the result does,
// or a tail that is only known through a polynomial. A line for each op: tests/elementwise/table_test.sh sees to it.
inline constexpr ElementwiseOp kElementwiseOps[] = {
    {&kNeg, 1},
    {&kAbs, 1},
    {&kSign, 1},
    {&kExp, 1, {2}},
    {&kExpm1, 1, {2}},
    {&kLog, 1, {2}},
    {&kLog1p, 1, {4}},
    {&kSqrt, 1, {2.5}},
    {&kRsqrt, 1, {3}},
    {&kRecip, 1, {2.5}},
    {&kSin, 1, {4}},
    {&kCos, 1, {4}},
    {&kTan, 1, {6}},
    {&kAsin, 1, {4}},
    {&kAcos, 1, {4}},
    {&kAtan, 1, {5}},
    {&kSinh, 1, {4}},
    {&kCosh, 1, {4}},
    {&kTanh, 1, {3}},
    {&kErf, 1, {2, 0x1p-125}},
    {&kRound, 1},
    {&kFloor, 1},
    {&kCeil, 1},
    {&kTrunc, 1},
    {&kIsNan, 1},
    {&kIsInf, 1},
    {&kLogicalNot, 1},
    {&kBitNot, 1},
    {&kRelu, 1},
    {&kSigmoid, 1, {5}},
    {&kSilu, 1, {6, 0x1p-119}},
    {&kGelu, 1, {4, 0x1p-24}},
    {&kGeluTanh, 1, {6, 0x1p-26}},
    {&kSoftplus, 1, {5}},
    {&kLogSigmoid, 1, {5}},
    {&kMish, 1, {8, 0x1p-118}},
    {&kSelu, 1, {4}},
    {&kHardSwish, 1, {3, 0x1p-125}},
    {&kLeakyRelu, 1, {0.5}, {attr_of(0.1f)}, 1},
    {&kElu, 1, {3}, {attr_of(0.75f)}, 1},
    {&kHardSigmoid, 1, {1, 0x1p-23}, {attr_of(0.2f), attr_of(0.5f)}, 2},
    {&kConj, 1},
    {&kReal, 1},
    {&kImag, 1},
    {&kCast, 1, {}, {static_cast<int64_t>(DType::f32)}, 1},
    {&kAdd, 2, {0.5}},
    {&kSub, 2, {0.5}},
    {&kMul, 2, {0.5}},
    {&kDiv, 2, {2.5}},
    {&kMax, 2},
    {&kMin, 2},
    {&kPow, 2, {5}},
    {&kMod, 2, {0.5, 0x1p-125}},
    {&kAtan2, 2, {5}},
    {&kEq, 2},
    {&kNe, 2},
    {&kLt, 2},
    {&kLe, 2},
    {&kGt, 2},
    {&kGe, 2},
    {&kLogicalAnd, 2},
    {&kLogicalOr, 2},
    {&kLogicalXor, 2},
    {&kBitAnd, 2},
    {&kBitOr, 2},
    {&kBitXor, 2},
    {&kShiftLeft, 2},
    {&kShiftRight, 2},
    {&kComplex, 2},
    {&kWhere, 3},
    {&kClamp, 3},
    {&kFma, 3, {1}},
};

constexpr Accuracy accuracy_of(const OpDef& op) {
  for (const ElementwiseOp& entry : kElementwiseOps) {
    if (entry.op == &op) return entry.accuracy;
  }
  return {};
}

// What the op makes of operands of this type, all of it; false: it does not take them.
constexpr bool result_of_type(const ElementwiseOp& entry, DType operand, DType& result) {
  Builder g;
  Tensor operands[3];
  for (int k = 0; k < entry.operands; ++k) operands[k] = g.input(k == 0 ? "a" : k == 1 ? "b" : "c", operand, {});
  const Tensor y(&g, g.append(*entry.op, {operands, static_cast<size_t>(entry.operands)}, entry.attrs(), Site()));
  if (!g.ok()) return false;
  result = y.dtype();
  return true;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_TABLE_H_
