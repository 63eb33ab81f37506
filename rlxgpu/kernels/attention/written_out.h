// How attention looks when it is written out: softmax(scores) v. What the scores are made of is followed step by step:
// scales, masks that are added or chosen by, a softcap, down to the product of queries and keys.
#ifndef RLXGPU_KERNELS_ATTENTION_WRITTEN_OUT_H_
#define RLXGPU_KERNELS_ATTENTION_WRITTEN_OUT_H_

#include "rlxgpu/graph/written_out.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/arithmetic.h"
#include "rlxgpu/kernels/elementwise/logic.h"
#include "rlxgpu/kernels/elementwise/select.h"
#include "rlxgpu/kernels/elementwise/unary.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/expand.h"
#include "rlxgpu/kernels/movement/reshape.h"
#include "rlxgpu/kernels/movement/transpose.h"
#include "rlxgpu/kernels/softmax/softmax.h"

namespace rlxgpu::core {

namespace written_out {

constexpr Tensor softmax_times_values(GraphPattern& p) {
  return matmul(softmax(p.any("scores"), p.axis()), p.any("v"));
}

// What has been found between the softmax and the product.
struct Scores {
  Tensor q, k;  // k: (..., key, d)
  Tensor mask, bias;
  double scale = 1, softcap = 0;
};

// x = value * factor, if it is a product with a number or a quotient by one.
constexpr bool scaled(const Match& m, Tensor value, Tensor& x, double& factor) {
  if (!m.is(value, kMul) && !m.is(value, kDiv)) return false;
  const Tensor a = m.operand(value, 0), b = m.operand(value, 1);
  const bool quotient = m.is(value, kDiv);
  if (m.is_number(b) && a.shape() == value.shape() && !(quotient && m.number(b) == 0)) {
    return x = a, factor = quotient ? 1 / m.number(b) : m.number(b), true;
  }
  if (!quotient && m.is_number(a) && b.shape() == value.shape()) return x = b, factor = m.number(a), true;
  return false;
}

// The last two axes change places, and no others.
constexpr bool is_matrix_transpose(const Match& m, Tensor value) {
  if (!m.is(value, kTranspose)) return false;
  const Call call = m.call(value);
  const int rank = value.shape().rank();
  for (int axis = 0; axis < rank; ++axis) {
    const int expected = axis < rank - 2 ? axis : 2 * rank - 3 - axis;
    if (normalise_axis(call.attr(axis), rank) != expected) return false;
  }
  return rank >= 2;
}

constexpr bool find_product(const Match& m, Tensor value, Scores& scores) {
  if (!m.is(value, kMatmul) || m.uses(value) > 1) return false;
  Tensor q = m.operand(value, 0), k = m.operand(value, 1), x;
  double factor = 1;
  if (scaled(m, q, x, factor)) q = x, scores.scale *= factor;
  if (scaled(m, k, x, factor)) k = x, scores.scale *= factor;
  const bool transposed = is_matrix_transpose(m, k);
  if (transposed) k = m.operand(k, 0);
  if (scaled(m, k, x, factor)) k = x, scores.scale *= factor;
  scores.q = q;
  scores.k = transposed ? k : transpose(k, m.site());
  return true;
}

// Follows the scores from the softmax to the product; of what is added, either operand may be the way on.
constexpr bool follow(const Match& m, Tensor value, Scores& scores, int steps = 0) {
  constexpr int kMostSteps = 8;
  if (steps == kMostSteps) return false;
  Tensor x;
  double factor = 1;
  if (m.is(value, kMatmul)) return find_product(m, value, scores);
  if (m.uses(value) > 1) return false;
  if (scaled(m, value, x, factor)) {
    scores.scale *= factor;
    return follow(m, x, scores, steps + 1);
  }
  // Everything from here on is inside a factor, unless that is 1.
  const bool plain = scores.scale == 1;
  if (m.is(value, kTanh)) {
    if (scores.softcap != 0 || scores.scale <= 0) return false;
    scores.softcap = scores.scale;
    return follow(m, m.operand(value, 0), scores, steps + 1);
  }
  if (!plain || scores.softcap != 0) return false;
  if (m.is(value, kAdd)) {
    for (int way = 0; way < 2; ++way) {
      const Tensor on = m.operand(value, way), bias = m.operand(value, 1 - way);
      if (!(on.shape() == value.shape())) continue;
      Scores tried = scores;
      tried.bias = tried.bias.given() ? tried.bias + bias : bias;
      if (follow(m, on, tried, steps + 1)) return scores = tried, true;
    }
    return false;
  }
  if (m.is(value, kWhere)) {
    const Tensor seen = m.operand(value, 1), hidden = m.operand(value, 2);
    const bool straight = m.is_number(hidden), crossed = m.is_number(seen);
    if (straight == crossed) return false;
    const Tensor on = straight ? seen : hidden;
    const double number = m.number(straight ? hidden : seen);
    // Beside numbers so far below them scores round to nothing, in rows that see no key at all, too.
    if (number > -1e9 || !(on.shape() == value.shape())) return false;
    const Tensor condition = m.operand(value, 0);
    const Tensor mask = straight ? condition : logical_not(condition, m.site());
    if (number < -3.5e38) {
      scores.mask = scores.mask.given() ? logical_and(scores.mask, mask) : mask;
    } else {
      const Tensor bias = where(mask, m.root().builder().literal(0, value.dtype()), Rhs(straight ? hidden : seen));
      scores.bias = scores.bias.given() ? scores.bias + bias : bias;
    }
    return follow(m, on, scores, steps + 1);
  }
  return false;
}

// Keys or values of which neighbouring heads share one, by copies: those that are shared.
constexpr Tensor without_copies(const Match& m, Tensor x) {
  if (!m.is(x, kReshape)) return x;
  const Tensor copies = m.operand(x, 0);
  if (!m.is(copies, kExpand) || copies.shape().rank() != 5 || x.shape().rank() != 4) return x;
  const Tensor shared = m.operand(copies, 0);
  const Shape from = shared.shape(), to = copies.shape(), heads = x.shape();
  if (from.rank() != 5 || from[2] != 1 || heads[1] != to[1] * to[2]) return x;
  for (const int axis : {0, 1, 3, 4}) {
    if (!(from.dim(axis) == to.dim(axis))) return x;
  }
  if (!(heads.dim(0) == to.dim(0)) || !(heads.dim(2) == to.dim(3)) || !(heads.dim(3) == to.dim(4))) return x;
  return reshape(shared, {from.dim(0), from.dim(1), from.dim(3), from.dim(4)}, m.site());
}

// (batch, head, row, d), whatever leading axes there are.
constexpr Tensor of_rank_4(Tensor x, Site site) {
  const Shape from = x.shape();
  Shape to;
  for (int axis = from.rank(); axis < 4; ++axis) to.push_back(1);
  for (int axis = 0; axis < from.rank(); ++axis) to.push_back(from.dim(axis));
  return from.rank() == 4 ? x : reshape(x, to, site);
}

constexpr Tensor to_attention(Match& m) {
  const Tensor weights = m.operand(m.root(), 0), v = m["v"];
  const Shape result = m.root().shape();
  if (m.uses(weights) > 1 || result.rank() < 2 || result.rank() > 4) return {};
  Scores scores;
  if (!follow(m, m["scores"], scores)) return {};
  if (scores.q.shape().rank() != result.rank() || scores.k.shape().rank() != result.rank()) return {};
  if (v.shape().rank() != result.rank() || scores.scale == 0) return {};
  const Site site = m.site();
  const Tensor k = without_copies(m, scores.k), values = without_copies(m, v);
  const Tensor y = attention(of_rank_4(scores.q, site), of_rank_4(k, site), of_rank_4(values, site),
                             {.scale = static_cast<float>(scores.scale),
                              .softcap = static_cast<float>(scores.softcap),
                              .mask = scores.mask,
                              .bias = scores.bias},
                             site);
  return result.rank() == 4 ? y : reshape(y, result, site);
}

// Heads behind rows, as most models go on: then attention writes them so, and nothing is moved after it.
constexpr Tensor heads_behind_rows(GraphPattern& p) {
  if (p.rank() == 4) return transpose(p.any("y"), {0, 2, 1, 3});
  return p.rank() == 3 ? transpose(p.any("y"), {1, 0, 2}) : Tensor();
}
constexpr Tensor to_sequence_first(Match& m) {
  const Shape result = m.root().shape();
  Tensor y = m["y"];
  if (m.uses(y) > 1) return {};
  if (result.rank() == 3 && m.is(y, kReshape) && m.operand(y, 0).shape().rank() == 4 && m.operand(y, 0).shape()[0] == 1)
    y = m.operand(y, 0);
  if (!m.is(y, kAttention) || m.uses(y) > 1) return {};
  const AttentionAttrs attrs(m.call(y).attrs);
  if (attrs.sequence_first) return {};
  const Site site = m.site();
  const auto operand = [&](int k) { return k >= 0 ? m.operand(y, k) : Tensor(); };
  const auto turned = [&](int k) {
    const Tensor x = m.operand(y, k);
    return transpose(x, {0, 2, 1, 3}, site);
  };
  const Tensor q = turned(0), k = turned(1), v = turned(2);
  const Tensor made = attention(q, k, v,
                                {.causal = attrs.causal,
                                 .window = attrs.window,
                                 .scale = attrs.scale,
                                 .softcap = attrs.softcap,
                                 .length = operand(attrs.length),
                                 .mask = operand(attrs.mask),
                                 .bias = operand(attrs.bias),
                                 .sequence_first = true},
                                site);
  return result.rank() == 4 ? made : reshape(made, result, site);
}

}  // namespace written_out

inline constexpr WrittenOut kAttentionForms[] = {
    {"attention, rows first", &kTranspose, written_out::heads_behind_rows, written_out::to_sequence_first},
    {"attention", &kMatmul, written_out::softmax_times_values, written_out::to_attention},
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_WRITTEN_OUT_H_
