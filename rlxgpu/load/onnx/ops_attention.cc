// Attention and rotary embedding.
#include <algorithm>
#include <cmath>
#include <limits>

#include "rlxgpu/kernels/attention/attention.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

// (batch, sequence, head * size) or (batch, head, sequence, size) as the latter.
Tensor heads_of(Node& n, int k, int64_t heads) {
  const Tensor x = n.tensor(k);
  if (n.rank(k) == 4) return x;
  if (n.rank(k) != 3 || heads < 1 || n.extent(k, 2) % heads != 0)
    n.invalid("operand ", k, " of shape ", n.shape(k), " has no ", heads, " heads");
  return transpose(reshape(x, {n.shape(k).dim(0), n.shape(k).dim(1), heads, n.extent(k, 2) / heads}), {0, 2, 1, 3});
}

// The mask as it is, or as long as there are keys: what it does not name is not seen.
Tensor mask_of(Node& n, int64_t keys) {
  const Tensor mask = n.tensor(3);
  if (mask.dtype() != boolean && !rlxgpu::core::is_float(mask.dtype())) n.invalid("a mask of ", name_of(n.type(3)));
  const int rank = n.rank(3);
  const int64_t named = rank == 0 ? 1 : n.extent(3, rank - 1);
  if (named == keys || named == 1) return mask;
  if (named > keys) n.invalid("a mask of ", named, " keys, where there are ", keys);
  IntList before, after;
  after.resize(rank - 1, 0);
  after.push_back(keys - named);
  const double unseen = mask.dtype() == boolean ? 0 : -std::numeric_limits<double>::infinity();
  return pad(mask, before, after, PadMode::constant, n.g().literal(unseen, mask.dtype()));
}

void import_attention(Node& n) {
  const bool causal = n.flag("is_causal");
  const float scale = n.number("scale", 0.0f), softcap = n.number("softcap", 0.0f);
  const int64_t q_heads = n.integer("q_num_heads", 0), kv_heads = n.integer("kv_num_heads", 0);
  n.ignore({"qk_matmul_output_mode", "softmax_precision"});  // scores and weights are in f32 in any case
  // ONNX caps scores after masking them, and may be asked for the scores themselves.
  if (n.wants(3) || (softcap != 0 && (n.has(3) || causal))) return n.expand_standard_function();
  const bool joined = n.rank(0) == 3;
  const Tensor q = heads_of(n, 0, q_heads);
  Tensor k = heads_of(n, 1, kv_heads), v = heads_of(n, 2, kv_heads);
  n.check();
  if (q.shape().rank() != 4 || q.shape()[3] > 256 || v.shape()[3] > 256) return n.expand_standard_function();
  const int64_t past = n.has(4) ? n.extent(4, 2) : 0;
  if (n.has(4) != n.has(5) || (n.has(4) && (n.rank(4) != 4 || n.rank(5) != 4)))
    n.invalid("past keys and values must both be (batch, head, sequence, size)");
  if (n.has(4)) k = concat({n.tensor(4), k}, 2), v = concat({n.tensor(5), v}, 2);
  n.check();
  const int64_t queries = q.shape()[2], keys = k.shape()[2];
  AttentionOptions options{.scale = scale, .softcap = softcap};
  if (n.has(3)) {
    const Tensor mask = mask_of(n, keys);
    (mask.dtype() == boolean ? options.mask : options.bias) = mask;
  }
  if (n.has(6)) options.length = n.tensor(6);
  // Query i stands beside key i + past; ours end together.
  if (causal && keys - queries == past && !n.has(6)) {
    options.causal = true;
  } else if (causal) {
    const Tensor row = reshape(iota(n.g(), i32, queries), {queries, 1}) + static_cast<int>(past);
    const Tensor seen = ge(row, iota(n.g(), i32, keys));
    options.mask = options.mask.given() ? logical_and(options.mask, seen) : seen;
  }
  const Tensor y = attention(q, k, v, options);
  n.check();
  n.result(
      0, joined ? reshape(transpose(y, {0, 2, 1, 3}), {q.shape().dim(0), q.shape().dim(2), y.shape()[1] * y.shape()[3]})
                : y);
  n.result(1, k, n.type(1));
  n.result(2, v, n.type(2));
}

void import_rotary_embedding(Node& n) {
  const bool interleaved = n.flag("interleaved");
  const int64_t heads = n.integer("num_heads", 0), given = n.integer("rotary_embedding_dim", 0);
  const bool joined = n.rank(0) == 3;
  const Tensor x = heads_of(n, 0, heads);  // (batch, head, sequence, size)
  n.check();
  if (x.shape().rank() != 4) n.invalid("the operand has rank ", n.rank(0));
  const int64_t size = x.shape()[3], turned = given != 0 ? given : size, half = turned / 2;
  if (turned < 2 || turned > size || turned % 2 != 0)
    n.invalid(turned, " of ", size, " columns cannot be turned in pairs");
  // Rows of the caches by position, or one row for each place: (batch, 1, sequence, half).
  const auto angles = [&](int k) {
    const Tensor rows = n.has(3) ? gather(n.tensor(k), n.tensor(3), 0) : n.tensor(k);
    return unsqueeze(narrow(rows, -1, 0, half), {1});
  };
  const Tensor cosine = angles(1), sine = angles(2);
  const auto part = [&](int64_t start, int64_t step) {
    return slice(x, {0, 0, 0, start}, {kEnd, kEnd, kEnd, step == 2 ? turned : start + half}, {1, 1, 1, step});
  };
  const Tensor a = interleaved ? part(0, 2) : part(0, 1), b = interleaved ? part(1, 2) : part(half, 1);
  const Tensor left = a * cosine - b * sine, right = a * sine + b * cosine;
  n.check();
  Shape rows = x.shape();
  rows.set(3, Dim(turned));
  Tensor y = interleaved ? reshape(concat({unsqueeze(left, {-1}), unsqueeze(right, {-1})}, -1), rows)
                         : concat({left, right}, -1);
  if (turned < size) y = concat({y, narrow(x, 3, turned, size - turned)}, 3);
  n.check();
  n.result(0, joined ? reshape(transpose(y, {0, 2, 1, 3}), n.shape(0)) : y);
}

constexpr OpImporter kOps[] = {
    {"Attention", import_attention},
    {"RotaryEmbedding", import_rotary_embedding},
};

}  // namespace

Importers attention_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
