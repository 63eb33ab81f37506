// Attention of a layer, whose keys and values are remembered from run to run.
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "rlxgpu/base/half.h"
#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/kv_cache/kv_append.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/rope/rope.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/models/net.h"
#include "rlxgpu/models/rope_scaling.h"

namespace rlxgpu::core::models {
namespace {

Tensor constant_of(Builder& g, const std::vector<float>& values, const Shape& shape) {
  std::vector<uint32_t> words(values.size());
  for (size_t i = 0; i < values.size(); ++i) words[i] = std::bit_cast<uint32_t>(values[i]);
  return g.constant(f32, shape, words);
}

// How much a key counts less for each token that it is farther away: (1, head, 1, 1).
Tensor alibi_slopes(Builder& g, int64_t heads, double most) {
  int64_t power = 1;
  while (power * 2 <= heads) power *= 2;
  std::vector<float> slopes;
  for (int64_t h = 0; h < heads; ++h) {
    const double exponent = h < power ? static_cast<double>(h + 1) : static_cast<double>(2 * (h - power) + 1) / 2;
    slopes.push_back(static_cast<float>(std::exp2(-most / static_cast<double>(power) * exponent)));
  }
  return constant_of(g, slopes, {1, heads, 1, 1});
}

// softmax(q k' scale) v as it is written, for heads that the kernels of attention are too narrow for.
// q: (text, token, head, column)   k, v: (text, key, kv head, column)   mask: (text, 1, token, key)
Tensor plain_attention(Tensor q, Tensor k, Tensor v, Tensor mask, double scale, double softcap) {
  const Shape &from = q.shape(), &to = k.shape();
  const int64_t groups = from[2] / to[2];
  const Tensor queries =
      transpose(reshape(q, {from.dim(0), from.dim(1), to.dim(2), Dim(groups), from.dim(3)}), {0, 2, 3, 1, 4});
  const Tensor keys = unsqueeze(transpose(k, {0, 2, 3, 1}), {2}), values = unsqueeze(transpose(v, {0, 2, 1, 3}), {2});
  const Tensor scores = softcapped(matmul(queries, keys) * scale, softcap);  // (text, kv head, group, token, key)
  const Tensor weights = softmax(where(unsqueeze(mask, {2}), scores, -1e30f), -1);
  const Tensor mixed = transpose(matmul(weights, values), {0, 3, 1, 2, 4});
  return reshape(mixed, {from.dim(0), from.dim(1), from.dim(2), v.shape().dim(3)});
}

// The factors of angles in the file, which are chosen when a context is made.
std::vector<float> frequency_factors(const Net& net) {
  const bool is_long = net.plan().context > net.metadata().integer("rope.scaling.original_context_length", 0,
                                                                   net.metadata().integer("context_length"));
  const GgufTensor* found = net.stored(is_long ? "rope_factors_long" : "rope_factors_short");
  if (found == nullptr) found = net.stored("rope_freqs");
  if (found == nullptr || found->type != "F32") return {};
  std::vector<float> factors(found->data.size() / sizeof(float));
  std::memcpy(factors.data(), found->data.data(), factors.size() * sizeof(float));
  return factors;
}

}  // namespace

Layer::Layer(Net& net, int index) : Part(net, absl::StrCat("blk.", index, ".")), index_(index) {}

int64_t Layer::window(int64_t period) const {
  const int64_t keys = meta().integer("attention.sliding_window");
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (meta().count(kPattern) > 1) return meta().flag(kPattern, false, index_) ? keys : 0;
  period = meta().integer(kPattern, 0, period);
  return period > 0 && index_ % period < period - 1 ? keys : 0;
}

Tensor Layer::head_norm(Tensor heads, std::string_view name, Norm kind) const {
  const Shape shape = heads.shape(), own = weight(name).shape();
  if (own.rank() == 2) {  // weights of each head
    const bool rms = kind == Norm::rms;
    const float epsilon = static_cast<float>(
        meta().number(rms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", 1e-5));
    const Tensor normal =
        rms ? core::rms_norm(heads, {}, {.epsilon = epsilon}) : core::layer_norm(heads, {}, {}, {.epsilon = epsilon});
    return normal * weight(name);
  }
  if (own[0] == shape[3]) return norm(heads, name, kind);
  return net().heads(norm(net().flat(heads), name, kind), shape[2], shape[3]);  // a row's heads together
}

Tensor Layer::turned(Tensor heads, const AttentionParts& parts) const {
  if (parts.rope == Rope::none) return heads;
  const double base = parts.rope_base != 0 ? parts.rope_base : meta().number("rope.freq_base", 10000);
  const int64_t columns = meta().integer("rope.dimension_count", 0, heads.shape()[3]);
  const std::vector<float> factors = parts.rope_scaled ? frequency_factors(net()) : std::vector<float>();
  const RopeTable table = rope_table(meta(), factors, {.columns = columns, .base = base, .scaled = parts.rope_scaled});
  if (table.magnitude != 1) {
    std::vector<float> magnitudes(static_cast<size_t>(heads.shape()[3]), 1.0f);
    for (size_t i = 0; i < static_cast<size_t>(columns); ++i) magnitudes[i] = static_cast<float>(table.magnitude);
    heads = heads * constant_of(net().g(), magnitudes, {heads.shape()[3]});
  }
  return rope_by(heads, net().places(), table.radians,
                 {.interleaved = parts.rope == Rope::neighbours, .sequence_first = true});
}

Tensor Layer::attend(Tensor q, Tensor k, Tensor v, const AttentionParts& parts) const {
  Builder& g = net().g();
  if (!q.valid() || !k.valid() || !v.valid()) return {&g, -1};
  const int64_t size = q.shape()[3], kv_heads = k.shape()[2];
  const double scale = parts.scale != 0 ? parts.scale : 1 / std::sqrt(static_cast<double>(size));
  const bool sinks = has("attn_sinks");
  const int64_t first = sinks ? 1 : 0;  // a key of zeros stands before the others: its score is the sink
  Tensor length;
  if (parts.causal) {
    const Tensor before = net().before() + static_cast<double>(first);
    const auto remembered = [&](std::string_view what, Tensor x) {
      const Shape shape = {Dim(net().plan().context + first), Dim(kv_heads), x.shape().dim(3)};
      return kv_append(net().state(absl::StrCat(what, ".", index_), shape), x, before, 1);
    };
    k = remembered("k", k), v = remembered("v", v);
    length = before + cast(g.extent_value(net().tokens()), u32);
  }
  const Tensor key = iota(g, u32, k.shape().dim(1));  // with the sink, one more than its place
  const Tensor query = unsqueeze(net().places() + static_cast<double>(first), {1, 3});  // (text, 1, token, 1)
  Tensor bias, mask;
  if (parts.alibi != 0) {
    const Tensor distance = cast(key, f32) - cast(query, f32);
    bias = alibi_slopes(g, q.shape()[2], parts.alibi) * (parts.causal ? distance : -abs(distance));
  }
  int64_t window = parts.window;
  if (sinks) {
    bias = where(eq(key, 0), reshape(weight("attn_sinks"), {1, q.shape().dim(2), 1, 1}), 0.0f);
    if (window > 0) mask = logical_or(eq(key, 0), gt(key + static_cast<double>(window), query));
    window = 0;
  }
  if (size > 256) {
    mask = le(key, query);
    if (window > 0) mask = logical_and(mask, gt(key + static_cast<double>(window), query));
    return plain_attention(q, k, v, mask, scale, parts.softcap);
  }
  return core::attention(q, k, v,
                         {.causal = parts.causal,
                          .window = window,
                          .scale = static_cast<float>(scale),
                          .softcap = static_cast<float>(parts.softcap),
                          .length = length,
                          .mask = mask,
                          .bias = bias,
                          .sequence_first = true});
}

Tensor Layer::attention(Tensor x, const AttentionParts& parts) const {
  const int64_t heads = meta().integer("attention.head_count", index_);
  const int64_t kv_heads = meta().integer("attention.head_count_kv", index_, heads);
  if (heads <= 0 || kv_heads <= 0) {
    net().g().fail(std::source_location::current(), "layer ", index_, " has ", heads, " heads, and ", kv_heads,
                   " of keys");
    return {&net().g(), -1};
  }
  const int64_t size = meta().integer("attention.key_length", index_, net().width() / heads);
  const int64_t value_size = meta().integer("attention.value_length", index_, net().width() / heads);
  Tensor q, k, v;
  if (has("attn_qkv")) {
    const Tensor qkv = linear(x, "attn_qkv");
    q = narrow(qkv, 1, 0, heads * size), k = narrow(qkv, 1, heads * size, kv_heads * size);
    v = narrow(qkv, 1, (heads + kv_heads) * size, kv_heads * value_size);
  } else {
    q = linear(x, "attn_q"), k = linear(x, "attn_k"), v = linear(x, "attn_v");
  }
  if (const double most = meta().number("attention.clamp_kqv"); most > 0) {
    for (Tensor* const t : {&q, &k, &v}) *t = clamp(*t, -most, most);
  }
  q = net().heads(q, heads, size), k = net().heads(k, kv_heads, size), v = net().heads(v, kv_heads, value_size);
  if (!q.valid() || !k.valid() || !v.valid()) return {&net().g(), -1};
  const auto normed = [&](Tensor t, std::string_view name) { return head_norm(t, name, parts.norm); };
  const bool norms = has("attn_q_norm") && has("attn_k_norm");
  if (norms && !parts.norm_after_rope) q = normed(q, "attn_q_norm"), k = normed(k, "attn_k_norm");
  q = turned(q, parts), k = turned(k, parts);
  if (norms && parts.norm_after_rope) q = normed(q, "attn_q_norm"), k = normed(k, "attn_k_norm");
  return linear(net().flat(attend(q, k, v, parts)), "attn_output", parts.output_bias);
}

}  // namespace rlxgpu::core::models
