// view_through: where the elements of a chain of views lie in the memory of the value that the chain begins with.
#ifndef RLXGPU_COMPILE_VIEWS_H_
#define RLXGPU_COMPILE_VIEWS_H_

#include <cstddef>
#include <cstdint>

#include "rlxgpu/base/vec.h"
#include "rlxgpu/compile/simplify.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/graph/op.h"

namespace rlxgpu::core {

// `views`: nodes, the last of them a view of `base`, which is dense, each other one of the node after it. False when
// one of them is not possible as a view. A loop: a chain may have any length.
constexpr bool view_through(const Graph& graph, int32_t base, const Vec<const Node*>& views, View& view) {
  view = {0, dense_strides(graph.value(base).shape)};
  for (size_t i = views.size(); i-- > 0;) {
    const View inner = view;
    if (!views[i]->op->view(call_of(graph, *views[i]), inner, view)) return false;
  }
  return true;
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_COMPILE_VIEWS_H_
