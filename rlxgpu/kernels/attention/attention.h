// attention(q, k, v): softmax(q k' scale) v for each head, without a matrix of scores unless that is faster.
//
//   Tensor y = attention(q, k, v, {.causal = true});                          // one dispatch
//   Tensor z = attention(q, keys, values, {.causal = true, .length = n});     // a cache of which n keys are in use
//
// q: (batch, head, query, d)   k: (batch, kv head, key, d)   v: (batch, kv head, key, dv)   result: (batch, head,
// query, dv); with .sequence_first (batch, query, head, d) and so on. Heads are a multiple of kv heads: neighbours
// share one. d and dv to 256, f32, f16 or bf16, computed in f32. k and v are read where they are, transposed or sliced;
// q, masks and biases are computed on the fly from the maps before them. Queries and keys end together: query i stands
// beside key i + keys - queries. A query that sees no key gives zeros.
#ifndef RLXGPU_KERNELS_ATTENTION_ATTENTION_H_
#define RLXGPU_KERNELS_ATTENTION_ATTENTION_H_

#include "rlxgpu/base/math.h"
#include "rlxgpu/compile/emit.h"
#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/attention/layout.h"
#include "rlxgpu/kernels/attention/materialized.h"
#include "rlxgpu/kernels/attention/reference.h"
#include "rlxgpu/kernels/attention/streaming.h"

namespace rlxgpu::core {

constexpr void attention_infer(Infer& infer) {
  const AttentionAttrs attrs(infer.call().attrs);
  const HeadAxes axes(attrs.sequence_first);
  for (int k = 0; k < 3; ++k) {
    if (infer.shape(k).rank() != 4) return infer.fail("queries, keys and values have rank 4");
    if (!is_float(infer.dtype(k))) return infer.fail("needs floats, not ", name_of(infer.dtype(k)));
  }
  const Shape &q = infer.shape(0), &k = infer.shape(1), &v = infer.shape(2);
  if (!(q.dim(0) == k.dim(0)) || !(q.dim(0) == v.dim(0))) return infer.fail("batches differ");
  if (!(k.dim(axes.head) == v.dim(axes.head))) return infer.fail("keys and values have different heads");
  if (k[axes.head] == 0 ? q[axes.head] != 0 : q[axes.head] % k[axes.head] != 0) {
    return infer.fail(q[axes.head], " heads are no multiple of ", k[axes.head], " heads of keys");
  }
  if (!(k.dim(axes.row) == v.dim(axes.row))) return infer.fail("there are not as many values as keys");
  if (!(q.dim(3) == k.dim(3))) return infer.fail("queries of ", q[3], " columns, keys of ", k[3]);
  if (q[3] > 256 || v[3] > 256) return infer.fail("heads of more than 256 columns");
  if (q[3] == 0) return infer.fail("heads without columns");
  if (q.symbol(0) >= 0 || q.symbol(axes.head) >= 0 || q.symbol(3) >= 0 || v.symbol(3) >= 0) {
    return infer.fail("only the numbers of queries and keys may be run-time extents");
  }
  if (attrs.window < 0) return infer.fail("the window is ", attrs.window);
  if (attrs.length >= 0) {
    const Shape& length = infer.shape(attrs.length);
    const bool fits = length.rank() == 0 || (length.rank() == 1 && (length[0] == 1 || length[0] == q[0]));
    if (!is_index(infer.dtype(attrs.length)) || !fits)
      return infer.fail("the length is an i32 or u32, one or one for each batch");
  }
  const Shape scores = {q.dim(0), q.dim(axes.head), q.dim(axes.row), k.dim(axes.row)};
  for (const int operand : {attrs.mask, attrs.bias}) {
    if (operand < 0) continue;
    const bool is_mask = operand == attrs.mask;
    if (is_mask ? infer.dtype(operand) != boolean : !is_float(infer.dtype(operand))) {
      return infer.fail(is_mask ? "the mask is a bool, not " : "the bias is a float, not ",
                        name_of(infer.dtype(operand)));
    }
    Shape both;
    if (!broadcast(scores, infer.shape(operand), both) || !(both == scores)) {
      return infer.fail(is_mask ? "the mask" : "the bias", " does not broadcast to ", scores);
    }
  }
  Shape result = q;
  result.set(3, v.dim(3));
  infer.result(infer.dtype(0), result);
}

inline constexpr Variant kAttentionVariants[] = {
    {.name = "split",
     .accepts = attention_split_accepts,
     .emit = attention_split_emit,
     .prefers = attention_split_prefers,
     .parameters = {attention_internal::kSplitParameters, attention_split_defaults, attention_split_valid}},
    {.name = "materialized",
     .accepts = attention_materialized_accepts,
     .emit = attention_materialized_emit,
     .prefers = attention_materialized_prefers,
     .parameters = {kMaterializedParameters, attention_materialized_defaults, attention_materialized_valid}},
    {.name = "streaming",
     .emit = attention_streaming_emit,
     .parameters = {attention_internal::kStreamingParameters, attention_internal::streaming_defaults,
                    attention_internal::streaming_valid}},
};

// Two products for each pair of query and key.
constexpr Cost attention_cost(const Call& call) {
  const AttentionSizes sizes(call);
  const double pairs = static_cast<double>(sizes.batches * sizes.heads) * sizes.queries.extent * sizes.keys.extent;
  return {2.0 * pairs * static_cast<double>(sizes.size + sizes.value_size), 0};
}

inline constexpr OpDef kAttention{
    .name = "attention",
    .infer = attention_infer,
    .variants = kAttentionVariants,
    .absorbs = 0b111001,  // all but keys and values
    .absorbs_after = true,
    .cost = attention_cost,
    .reference = attention_reference,
};

struct AttentionOptions {
  bool causal = false;  // a query does not see the keys behind the one it stands beside
  int64_t window = 0;   // if not 0: only keys less than this far from it
  float scale = 0;      // 0: 1 / sqrt(d)
  float softcap = 0;    // if not 0: scores s become softcap tanh(s / softcap), before the bias
  Tensor length = {};   // how many of the keys there are, u32 or i32: one number, or one for each batch
  Tensor mask = {};  // bool, broadcast to (batch, head, query, key) as in NumPy: where it is false, a key is not seen
  Tensor bias = {};  // float, broadcast likewise, added to the scores
  bool sequence_first = false;  // (batch, query, head, d)
};

constexpr Tensor attention(Tensor q, Tensor k, Tensor v, AttentionOptions options = {},
                           Site site = std::source_location::current()) {
  const double columns = q.shape().rank() == 4 && q.shape()[3] > 0 ? static_cast<double>(q.shape()[3]) : 1;
  const float scale = options.scale != 0 ? options.scale : static_cast<float>(1 / square_root(columns));
  const int64_t attrs[] = {options.sequence_first, options.causal,           options.window,
                           attr_of(scale),         attr_of(options.softcap), options.length.given(),
                           options.mask.given(),   options.bias.given()};
  Tensor operands[6] = {q, k, v};
  size_t count = 3;
  for (const Tensor& optional : {options.length, options.mask, options.bias}) {
    if (optional.given()) operands[count++] = optional;
  }
  Builder& builder = q.builder();
  return {&builder, builder.append(kAttention, {operands, count}, attrs, site)};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::AttentionOptions, core::attention;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_ATTENTION_ATTENTION_H_
