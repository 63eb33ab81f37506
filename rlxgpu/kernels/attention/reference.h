// What attention means.
#ifndef RLXGPU_KERNELS_ATTENTION_REFERENCE_H_
#define RLXGPU_KERNELS_ATTENTION_REFERENCE_H_

#include <cmath>
#include <limits>
#include <vector>

#include "rlxgpu/kernels/attention/layout.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline void attention_reference(reference::Call& call) {
  const reference::Array &q = call.operand(0), &k = call.operand(1), &v = call.operand(2);
  const AttentionAttrs attrs(call.attrs);
  const AttentionSizes sizes(q.shape, k.shape, v.shape, attrs.sequence_first);
  const HeadAxes axes(attrs.sequence_first);
  const auto at = [&](const reference::Array& x, int64_t batch, int64_t head, int64_t row, int64_t col) -> int64_t {
    reference::Index index;
    index[axes.batch] = batch, index[axes.head] = head, index[axes.row] = row, index[axes.col] = col;
    return x.offset_of(index);
  };
  for (int64_t i = 0; i < sizes.batches * sizes.heads * sizes.queries.extent; ++i) {
    const int64_t query = i % sizes.queries.extent, head = i / sizes.queries.extent % sizes.heads;
    const int64_t batch = i / sizes.queries.extent / sizes.heads, kv_head = head / sizes.group;
    int64_t count = sizes.keys.extent;
    if (attrs.length >= 0) {
      const reference::Array& length = call.operand(attrs.length);
      const auto given = static_cast<int64_t>(length[length.count() > 1 ? batch : 0]);
      count = given < 0 ? 0 : given < count ? given : count;
    }
    std::vector<double> scores(static_cast<size_t>(count), -std::numeric_limits<double>::infinity());
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t key = 0; key < count; ++key) {
      const int64_t distance = query + count - sizes.queries.extent - key;
      const reference::Index place = {{batch, head, query, key}};
      if (attrs.causal && distance < 0) continue;
      if (attrs.window > 0 && (distance >= attrs.window || -distance >= attrs.window)) continue;
      if (attrs.mask >= 0 && call.operand(attrs.mask)[call.operand(attrs.mask).broadcast_offset(place, 4)] == 0)
        continue;
      double score = 0;
      for (int64_t c = 0; c < sizes.size; ++c)
        score += q[at(q, batch, head, query, c)] * k[at(k, batch, kv_head, key, c)];
      score *= static_cast<double>(attrs.scale);
      if (attrs.softcap > 0) score = attrs.softcap * std::tanh(score / attrs.softcap);
      if (attrs.bias >= 0) score += call.operand(attrs.bias)[call.operand(attrs.bias).broadcast_offset(place, 4)];
      scores[static_cast<size_t>(key)] = score;
      most = score > most || std::isnan(score) ? score : most;
    }
    if (most == -std::numeric_limits<double>::infinity()) continue;  // sees nothing: zeros
    for (double& score : scores) sum += score = std::exp(score - most);
    for (int64_t c = 0; c < sizes.value_size; ++c) {
      double value = 0;
      for (int64_t key = 0; key < count; ++key) {
        if (scores[static_cast<size_t>(key)] != 0)
          value += scores[static_cast<size_t>(key)] / sum * v[at(v, batch, kv_head, key, c)];
      }
      call.result()[at(call.result(), batch, head, query, c)] = value;
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ATTENTION_REFERENCE_H_
