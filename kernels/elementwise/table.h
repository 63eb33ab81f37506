// accuracy_of(op): how far an elementwise op on f32 may be from its reference, for every finite argument.
//
//   |result - exact| <= ulps * ulp(exact) + absolute
//
// Given + - * that round to nearest, division to 2.5 ulps and sqrt to 2.5 ulps (what WGSL asks of adapters); on
// adapters that divide exactly the errors are about half as large. Results below 2^-126 may be flushed to zero.
// Measured on every adapter by tests/elementwise/accuracy_test.cc. Ops that are not listed are exact or rounded once.
#ifndef KERNELS_ELEMENTWISE_ACCURACY_H_
#define KERNELS_ELEMENTWISE_ACCURACY_H_

#include "kernels/elementwise/elementwise.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu {

struct Accuracy {
  double ulps = 0.5;
  double absolute = 0;
};

struct OpAccuracy {
  const OpDef* op;
  Accuracy accuracy;
};

// Where an absolute error is given, what is computed is a product that leaves the range of f32 before the result does,
// or a tail that is only known through a polynomial.
inline constexpr OpAccuracy kElementwiseAccuracies[] = {
    {&kExp, {2}},
    {&kExpm1, {2}},
    {&kLog, {2}},
    {&kLog1p, {4}},
    {&kSqrt, {2.5}},
    {&kRsqrt, {3}},
    {&kRecip, {2.5}},
    {&kDiv, {2.5}},
    {&kSin, {4}},
    {&kCos, {4}},
    {&kTan, {6}},
    {&kAsin, {4}},
    {&kAcos, {4}},
    {&kAtan, {5}},
    {&kAtan2, {5}},
    {&kSinh, {4}},
    {&kCosh, {4}},
    {&kTanh, {3}},
    {&kErf, {2, 0x1p-125}},
    {&kPow, {5}},
    {&kMod, {0.5, 0x1p-125}},
    {&kSigmoid, {5}},
    {&kSilu, {6, 0x1p-119}},
    {&kGelu, {4, 0x1p-24}},
    {&kGeluTanh, {6, 0x1p-26}},
    {&kSoftplus, {5}},
    {&kLogSigmoid, {5}},
    {&kMish, {8, 0x1p-118}},
    {&kSelu, {4}},
    {&kElu, {3}},
    {&kHardSwish, {3, 0x1p-125}},
    {&kHardSigmoid, {1, 0x1p-23}},
    {&kLeakyRelu, {0.5}},
};

constexpr Accuracy accuracy_of(const OpDef& op) {
  for (const OpAccuracy& known : kElementwiseAccuracies) {
    if (known.op == &op) return known.accuracy;
  }
  return {};
}

}  // namespace rlxgpu

#endif  // KERNELS_ELEMENTWISE_ACCURACY_H_
