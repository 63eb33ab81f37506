// split_weights: a graph as two: what follows from weights alone, to be computed once, and the rest, which takes those
// results as weights of its own.
//
//   WeightPart part = split_weights(graph);
//   if (!part.names.empty()) compute part.once, and give its outputs to `weights` under the same names;
//   auto executable = Executable<DynamicGraph>::create(device, part.rest, {.engine = {.weights = weights}});
//
// Files often hold weights in another form than products want them: quantised, transposed, one by one. prepare_weights
// does all of this, piece by piece, so that it takes little memory. Names tell what is computed, so that graphs which share weights share these, too. Views of weights
// stay in the rest, where they cost nothing. A graph with run-time numbers is left as it is.
#ifndef RLXGPU_LOAD_WEIGHT_PART_H_
#define RLXGPU_LOAD_WEIGHT_PART_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "rlxgpu/dynamic.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/status.h"
#include "rlxgpu/runtime/weights.h"

namespace rlxgpu::core {

// Names of results that are beside the weights already, and their bytes.
using PreparedWeights = std::map<std::string, uint64_t>;

struct WeightPart {
  DynamicGraph once, rest;
  std::vector<std::string> names;  // outputs of `once`, params of `rest`
};
// `prepared` are only params of `rest`.
WeightPart split_weights(const Graph& graph, const PreparedWeights& prepared = {});

// The rest of a graph; what it needs has been computed and put beside the weights, which must be set already.
// `prepared`: what earlier calls with the same weights computed, if these have not been set again since: it is not
// computed again, and what is new is added.
Result<DynamicGraph> prepare_weights(const Device& device, const Graph& graph, const Weights& weights,
                                     PreparedWeights* prepared = nullptr);
// The same into other weights, with those that the rest reads as they are: `from` is then needed no more.
Result<DynamicGraph> prepare_weights(const Device& device, const Graph& graph, const Weights& from, const Weights& to,
                                     PreparedWeights* prepared = nullptr);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::PreparedWeights, core::WeightPart, core::prepare_weights, core::split_weights;
}  // namespace rlxgpu

#endif  // RLXGPU_LOAD_WEIGHT_PART_H_
