// Shaker: evaluates ops with every result as wrong as it may be (op_error.h): one possible outcome on a device.
//
//   Shaker shaker(seed);
//   shaker.evaluate(call, error_of(call), [](Call& c) { c.op->reference(c); });
//
// Stochastic arithmetic: many such outcomes show how far rounding alone can carry the result of a whole graph
// (comparison.h). Results of f16 and bf16 are rounded or not by chance, since a fused kernel keeps them in f32; or, in
// half of the outcomes, all are off by up to half an ulp, since one rounding may hide another.
#ifndef RLXGPU_REFERENCE_SHAKER_H_
#define RLXGPU_REFERENCE_SHAKER_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/reference/call.h"
#include "rlxgpu/reference/op_error.h"
#include "rlxgpu/reference/storage.h"

namespace rlxgpu::core::reference {

class Shaker {
 public:
  explicit Shaker(uint64_t seed) : state_(seed), blurs_(coin()) {}

  // `compute` fills in the results of a call.
  template <typename Compute>
  void evaluate(Call& call, const OpError& error, const Compute& compute) {
    std::vector<Array> shaken;
    const std::vector<const Array*> given = call.operands;
    if (error.operand_ulps > 0) {
      for (const Array* operand : given) shaken.push_back(shake(*operand, error.operand_ulps, 0));
      for (size_t k = 0; k < shaken.size(); ++k) call.operands[k] = &shaken[k];
    }
    compute(call);
    call.operands = given;
    for (Array* result : call.results) finish(*result, error);
  }

  // Every float a little off: by chance a little or as far as possible. Parts of a complex number are off by the size
  // of the number, since they are computed from both parts of others.
  Array shake(const Array& array, double ulps, double absolute) {
    Array result = array;
    if (!is_real_or_complex(array.dtype)) return result;
    const bool far = coin();
    for (size_t i = 0; i < result.data.size(); ++i) {
      const double by = far ? (coin() ? 1.0 : -1.0) : 2 * unit() - 1;
      const std::vector<double>& x = array.data;
      const double size = array.dtype == c64 ? std::hypot(x[i & ~size_t{1}], x[i | 1]) : std::fabs(x[i]);
      if (std::isfinite(size)) result.data[i] += by * (ulps * 0x1p-23 * size + absolute);
    }
    return result;
  }

 private:
  uint64_t next() {  // splitmix64
    state_ += 0x9e3779b97f4a7c15u;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool coin() { return next() >> 63 != 0; }

  void finish(Array& result, const OpError& error) {
    if (error.result_ulps > 0) {
      Array shaken = shake(result, error.result_ulps, error.absolute + 0x1p-126);
      for (size_t i = 0; (error.rounds || error.keeps_exact) && i < result.data.size(); ++i) {
        if (rounded(result.data[i], f32) == result.data[i]) shaken.data[i] = result.data[i];
      }
      result = std::move(shaken);
    }
    if (error.fragile && coin()) {
      for (double& element : result.data) {
        if (!std::isfinite(element)) element = 1;
      }
    }
    if (result.dtype == f32 || !is_float(result.dtype) || error.rounds) {
      round_to_storage(result);
    } else {
      round_by_chance(result);
    }
  }

  void round_by_chance(Array& result) {
    const bool store = coin();
    const double half_ulp = result.dtype == f16 ? 0x1p-11 : 0x1p-8;
    for (double& element : result.data) {
      element = rounded(element, f32);  // registers
      const double whole = rounded(element, result.dtype);
      if (blurs_ && std::isfinite(whole) && whole != element) {
        element += (coin() ? 1.0 : -1.0) * half_ulp * std::fabs(element);
      } else if (store || !std::isfinite(whole)) {
        element = whole;
      }
    }
  }

  uint64_t state_;
  bool blurs_;
};

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_REFERENCE_SHAKER_H_
