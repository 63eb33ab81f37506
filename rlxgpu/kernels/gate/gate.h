// group_limited_gate(scores): which experts of a mixture take a token, and with which weights.
//
//   auto [weights, experts] = group_limited_gate(scores, {.groups = 8, .top_groups = 4, .top_k = 8});
//
// scores: [..., experts], any float; neighbouring experts form groups. A group's score is the sum of its two best (of its
// only one, when groups have one expert). In the top_groups best groups the top_k best experts are chosen, best first; a
// weight is the expert's score over the sum of the chosen ones + 1e-20, times `scale`. Ties go to the smaller index.
#ifndef RLXGPU_KERNELS_GATE_GATE_H_
#define RLXGPU_KERNELS_GATE_GATE_H_

#include <limits>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/sort/sort.h"

namespace rlxgpu::core {

struct GateOptions {
  int64_t groups = 1, top_groups = 1, top_k = 1;
  float scale = 1;
};
struct Gated {
  Tensor weights;  // f32 [..., top_k]
  Tensor experts;  // i32 [..., top_k]
};

constexpr Gated group_limited_gate(Tensor scores, const GateOptions& options, Site site = std::source_location::current()) {
  Builder& g = scores.builder();
  const Site here = site.as("group_limited_gate");
  const Shape& shape = scores.shape();
  const int last = shape.rank() - 1;
  const int64_t groups = options.groups, each = last >= 0 && groups > 0 ? shape[last] / groups : 0;
  if (g.ok() && (each == 0 || each * groups != shape[last])) {
    g.fail(site, "group_limited_gate(", shape, "): the experts do not make ", groups, " equal groups");
  }
  if (g.ok() && (options.top_groups < 1 || options.top_groups > groups || options.top_k < 1 || options.top_k > options.top_groups * each)) {
    g.fail(site, "group_limited_gate(", shape, "): ", options.top_k, " experts are wanted of ", options.top_groups, " groups of ", each);
  }
  if (!g.ok()) return {{&g, -1}, {&g, -1}};

  const Tensor all = cast(scores, f32, here);
  Tensor allowed = all;
  if (options.top_groups < groups) {
    Shape grouped;
    for (int i = 0; i < last; ++i) grouped.push_back(shape.dim(i));
    grouped.push_back(Dim(groups)), grouped.push_back(Dim(each));
    const Tensor members = reshape(all, grouped, here);
    const Tensor group_scores = sum(topk(members, each < 2 ? each : 2, -1, true, here).values, -1, {}, here);
    const Tensor best = topk(group_scores, options.top_groups, -1, true, here).indices;
    const Tensor kept = sum(one_hot(best, groups, -1, f32, 1, 0, here), -2, {}, here);  // 1 for the groups that are
    allowed = reshape(where(gt(unsqueeze(kept, {last + 1}, here), 0.5f), members, -std::numeric_limits<float>::infinity()), shape, here);
  }
  const Tensor experts = topk(allowed, options.top_k, -1, true, here).indices;
  const Tensor chosen = gather_elements(all, experts, -1, here);
  return {chosen / (sum(chosen, -1, {.keep_dims = true}, here) + 1e-20f) * options.scale, experts};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::GateOptions, core::Gated, core::group_limited_gate;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_GATE_GATE_H_
