// How softmax and log_softmax look when they are written out.
#ifndef RLXGPU_KERNELS_SOFTMAX_WRITTEN_OUT_H_
#define RLXGPU_KERNELS_SOFTMAX_WRITTEN_OUT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"

namespace rlxgpu::core {

namespace written_out {

constexpr ReduceOptions kKept = {.keep_dims = true};

// x, or x less its largest.
constexpr Tensor reduced(GraphPattern& p, Tensor x) { return p.either(x - reduce_max(x, p.axis(), kKept), x); }

constexpr Tensor softmax_by_quotient(GraphPattern& p) {
  const Tensor e = exp(reduced(p, p.any("x")));
  return e / sum(e, p.axis(), kKept);
}
constexpr Tensor softmax_by_product(GraphPattern& p) {
  const Tensor e = exp(reduced(p, p.any("x")));
  return e * recip(sum(e, p.axis(), kKept));
}
constexpr Tensor softmax_by_logarithm(GraphPattern& p) { return exp(log_softmax(p.any("x"), p.axis())); }
constexpr Tensor to_softmax(Match& m) { return softmax(m["x"], m.axis()); }

constexpr Tensor log_softmax_by_difference(GraphPattern& p) {
  const Tensor x = p.any("x"), less = reduced(p, x);
  return less - log_sum_exp(less, p.axis(), kKept);
}
constexpr Tensor log_softmax_by_logarithm(GraphPattern& p) { return log(softmax(p.any("x"), p.axis())); }
constexpr Tensor to_log_softmax(Match& m) { return log_softmax(m["x"], m.axis()); }

constexpr Tensor log_sum_exp_by_log(GraphPattern& p) { return log(sum(exp(p.any("x")), p.axis(), kKept)); }
constexpr Tensor to_log_sum_exp(Match& m) { return log_sum_exp(m["x"], m.axis(), kKept); }

}  // namespace written_out

inline constexpr WrittenOut kSoftmaxForms[] = {
    {"softmax", &kDiv, written_out::softmax_by_quotient, written_out::to_softmax, true},
    {"softmax", &kMul, written_out::softmax_by_product, written_out::to_softmax, true},
    {"softmax", &kExp, written_out::softmax_by_logarithm, written_out::to_softmax, true},
    {"log_softmax", &kSub, written_out::log_softmax_by_difference, written_out::to_log_softmax, true},
    {"log_softmax", &kLog, written_out::log_softmax_by_logarithm, written_out::to_log_softmax, true},
    {"log_sum_exp", &kLog, written_out::log_sum_exp_by_log, written_out::to_log_sum_exp, true},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SOFTMAX_WRITTEN_OUT_H_
