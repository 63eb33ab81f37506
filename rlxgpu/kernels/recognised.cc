#include "rlxgpu/kernels/recognised.h"

#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/kernels/attention/written_out.h"
#include "rlxgpu/kernels/elementwise/written_out.h"
#include "rlxgpu/kernels/matmul/written_out.h"
#include "rlxgpu/kernels/norm/normed_product.h"
#include "rlxgpu/kernels/norm/written_out.h"
#include "rlxgpu/kernels/softmax/written_out.h"

namespace rlxgpu::core {

Graph recognised(const Graph& graph, const Target& target, const RecogniseOptions& options) {
  if (!error_of(graph).empty()) return graph;
  // Each list finds what those before it made, and counts uses without what they made superfluous.
  const std::span<const WrittenOut> small[] = {options.own, kElementwiseForms, kSoftmaxForms, kNormForms};
  const std::span<const WrittenOut> large[] = {kMatmulForms, kAttentionForms};
  const std::span<const WrittenOut> together[] = {kNormedProducts};
  const std::span<const std::span<const WrittenOut>> passes[] = {small, large, together};
  Graph found = simplify(graph);
  for (const auto& lists : passes) found = simplify(recognise(found, lists, target, options.found));
  return found;
}

}  // namespace rlxgpu::core
