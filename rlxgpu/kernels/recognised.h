// recognised(graph, target): the same graph with layers that are written out replaced by the ops they are, and with
// neighbours that the target is better off computing together as one op. What the planner plans.
//
//   Vec<Recognition> found;
//   Graph graph = recognised(builder.graph(), device.target(), {.found = &found});   // found[0].name == "layer_norm"
//   recognised(graph, target, {.own = kMyForms});             // forms of ops of your own come first
//
// Results are those of the ops found, within their tolerances: not bit for bit what was written. One that differs:
// where a mask of -infinity leaves a row no key at all, softmax gives NaN, attention zeros.
#ifndef RLXGPU_KERNELS_RECOGNISED_H_
#define RLXGPU_KERNELS_RECOGNISED_H_

#include <span>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/recognise.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/target.h"
#include "rlxgpu/graph/written_out.h"

namespace rlxgpu::core {

struct RecogniseOptions {
  std::span<const WrittenOut> own = {};
  Vec<Recognition>* found = nullptr;  // what was found where, in order
};

// A graph with an error stays as it is.
Graph recognised(const Graph& graph, const Target& target, const RecogniseOptions& options = {});

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_RECOGNISED_H_
