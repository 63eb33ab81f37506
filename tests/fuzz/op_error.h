// OpError: how far a device's result of one op may lie from the reference's, given the same operands.
//
// In ulps of f32, in which everything is computed: of the result, and of the operands, which stands for
// rounding inside the op that a result near zero does not show (a sum of n terms, a b + c, a complex
// product). Zero for ops that only choose or move numbers: there a device has to agree exactly.
#ifndef RLXGPU_TESTS_FUZZ_OP_ERROR_H_
#define RLXGPU_TESTS_FUZZ_OP_ERROR_H_

#include <algorithm>
#include <cmath>
#include <string_view>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::fuzz {

struct OpError {
  double operand_ulps = 0;
  double result_ulps = 0;
  double absolute = 0;
  bool rounds = false;   // to its storage type in a fused kernel, too
  bool fragile = false;  // WGSL lets drivers reckon that nothing is infinite or NaN: x - x is 0, x / 0 anything
};

inline bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Ops that compute nothing, or nothing that needs rounding.
inline bool is_exact(const OpDef& op) {
  return op.moves || op.relabels || op.view != nullptr ||
         is_one_of(op.name, {"neg",  "sign",  "round",   "floor",      "ceil",       "trunc",  "relu",   "max",   "min",
                             "mod",  "where", "clamp",   "reduce_max", "reduce_min", "argmax", "argmin", "conj",  "real",
                             "imag", "complex", "is_nan", "is_inf",    "eq",         "ne",     "lt",     "le",    "gt",
                             "ge",   "cummax", "triangle", "one_hot", "sort", "argsort", "topk"});
}

inline OpError error_of(const reference::Call& call) {
  const OpDef& op = *call.op;
  if (op.name == "cast") return {.rounds = true};
  if (op.name == "iota") return {.operand_ulps = 1, .result_ulps = 1};
  if (is_exact(op)) return {};
  if (op.name == "abs" && call.operand(0).dtype != c64) return {};
  if (op.at != nullptr) {
    const bool complex = call.operand(0).dtype == c64;
    if (is_one_of(op.name, {"add", "sub", "mul"})) return {.operand_ulps = complex ? 1.0 : 0.0, .result_ulps = 1, .fragile = true};
    if (is_one_of(op.name, {"div", "recip", "fma"})) return {.operand_ulps = complex || op.name == "fma" ? 2.0 : 0.0, .result_ulps = 3, .fragile = true};
    if (is_one_of(op.name, {"sqrt", "rsqrt"})) return {.result_ulps = 3};
    return {.operand_ulps = 1, .result_ulps = 4, .absolute = 0x1p-26, .fragile = complex};
  }
  // Kernels add up: n terms in some order; softmax and log_sum_exp take an exponential and a logarithm of the driver.
  const double terms = static_cast<double>(call.operand(0).count()) / std::max<double>(1, static_cast<double>(call.result().count()));
  const double exponential = is_one_of(op.name, {"softmax", "log_softmax", "log_sum_exp"}) ? 16 : 0;
  return {.operand_ulps = 2 + std::sqrt(std::max(terms, 16.0)), .result_ulps = 2 + exponential, .absolute = exponential * 0x1p-24};
}

}  // namespace rlxgpu::fuzz

#endif  // RLXGPU_TESTS_FUZZ_OP_ERROR_H_
