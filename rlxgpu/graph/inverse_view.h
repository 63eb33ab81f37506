// InverseView: a View the other way round, for writing. Where is an element of a dense tensor in a view of that tensor?
//
//   InverseView inverse;
//   if (inverse.find(view, shape)) ...   // for axis in inverse.axes: coordinate = rest / stride; rest %= stride
//
// Axes are peeled off the element's address from the largest stride on; if a coordinate is too large, or something is
// left over at the end, the element is not in the view. Possible when no two elements of the view are one of the tensor.
#ifndef RLXGPU_GRAPH_INVERSE_VIEW_H_
#define RLXGPU_GRAPH_INVERSE_VIEW_H_

#include <cstdint>

#include "rlxgpu/graph/op.h"
#include "rlxgpu/graph/shape.h"

namespace rlxgpu::core {

struct InverseView {
  int8_t axes[kMaxRank] = {};  // of the view, by descending stride, without those of extent 1
  int count = 0;
  constexpr bool find(const View& view, const Shape& shape) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      if (shape[axis] == 1) continue;
      if (view.strides[axis] <= 0) return false;
      int at = count++;
      for (; at > 0 && view.strides[axes[at - 1]] < view.strides[axis]; --at) axes[at] = axes[at - 1];
      axes[at] = static_cast<int8_t>(axis);
    }
    int64_t inside = 0;  // the largest address of the axes after this one
    for (int i = count; i-- > 0;) {
      if (view.strides[axes[i]] <= inside) return false;
      inside += view.strides[axes[i]] * (shape[axes[i]] - 1);
    }
    return view.offset >= 0;
  }
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_GRAPH_INVERSE_VIEW_H_
