// What each data movement means: where an element of the result comes from. Written without regard to how the GPU does
// it; attributes are those of the op's header.
#ifndef RLXGPU_KERNELS_MOVEMENT_REFERENCE_H_
#define RLXGPU_KERNELS_MOVEMENT_REFERENCE_H_

#include <algorithm>
#include <cstdint>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

inline void copy_element(Array& to, int64_t i, const Array& from, int64_t j) {
  const int64_t parts = to.dtype == c64 ? 2 : 1;
  for (int64_t part = 0; part < parts; ++part) to[i * parts + part] = from[j * parts + part];
}

// Result element `index` is operand 0's element source(index).
template <typename Source>
void move_each(Call& call, const Source& source) {
  Array& result = call.result();
  for (int64_t i = 0; i < result.count(); ++i) {
    copy_element(result, i, call.operand(0), call.operand(0).offset_of(source(result.index_of(i))));
  }
}

inline int axis_of(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

// Negative indices count from the end; what is outside becomes the nearest inside.
inline int64_t wrap_index(double index, int64_t extent) {
  const auto i = static_cast<int64_t>(index);
  return std::clamp<int64_t>(i < 0 ? i + extent : i, 0, extent - 1);
}

inline void reshape(Call& call) { call.result().data = call.operand(0).data; }

inline void transpose(Call& call) {
  const int rank = call.result().shape.rank();
  move_each(call, [&](const Index& index) {
    Index from;
    for (int axis = 0; axis < rank; ++axis) from[axis_of(call.attr(axis), rank)] = index[axis];
    return from;
  });
}

inline void slice(Call& call) {
  const Array& x = call.operand(0);
  move_each(call, [&](const Index& index) {
    Index from;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      int64_t start = call.attr(3 * axis);
      const int64_t step = call.attr(3 * axis + 2);
      if (start < 0) start += x.shape[axis];
      start = step > 0 ? std::max<int64_t>(start, 0) : std::min<int64_t>(start, x.shape[axis] - 1);
      from[axis] = start + index[axis] * step;
    }
    return from;
  });
}

inline void expand(Call& call) {
  Array& result = call.result();
  for (int64_t i = 0; i < result.count(); ++i) {
    copy_element(result, i, call.operand(0), call.operand(0).broadcast_offset(result.index_of(i), result.shape.rank()));
  }
}

inline void tile(Call& call) {
  const Shape& shape = call.operand(0).shape;
  move_each(call, [&](Index index) {
    for (int axis = 0; axis < shape.rank(); ++axis) index[axis] %= shape[axis];
    return index;
  });
}

inline void roll(Call& call) {
  const Shape& shape = call.operand(0).shape;
  move_each(call, [&](Index index) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      const int64_t n = shape[axis];
      index[axis] = ((index[axis] - call.attr(axis)) % n + n) % n;
    }
    return index;
  });
}

inline void concat(Call& call) {
  Array& result = call.result();
  const int axis = axis_of(call.attr(0), result.shape.rank());
  for (int64_t i = 0; i < result.count(); ++i) {
    Index index = result.index_of(i);
    int k = 0;
    while (index[axis] >= call.operand(k).shape[axis]) index[axis] -= call.operand(k++).shape[axis];
    copy_element(result, i, call.operand(k), call.operand(k).offset_of(index));
  }
}

// attrs: mode (0 constant, 1 reflect, 2 edge, 3 wrap), then how many elements before each axis.
inline void pad(Call& call) {
  const Array& x = call.operand(0);
  Array& result = call.result();
  for (int64_t i = 0; i < result.count(); ++i) {
    Index index = result.index_of(i);
    bool inside = true;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
      const int64_t n = x.shape[axis];
      int64_t at = index[axis] - call.attr(1 + axis);
      switch (call.attr(0)) {
        case 0:
          inside = inside && at >= 0 && at < n;
          break;
        case 1:
          while (n > 1 && (at < 0 || at >= n)) at = at < 0 ? -at : 2 * (n - 1) - at;
          if (n == 1) at = 0;
          break;
        case 2:
          at = std::clamp<int64_t>(at, 0, n - 1);
          break;
        case 3:
          while (at < 0) at += n;
          while (at >= n) at -= n;
          break;
      }
      index[axis] = at;
    }
    if (inside) {
      copy_element(result, i, x, x.offset_of(index));
    } else {
      copy_element(result, i, call.operand(1), 0);
    }
  }
}

inline void gather(Call& call) {
  const Array& x = call.operand(0);
  const Array& indices = call.operand(1);
  const int axis = axis_of(call.attr(0), x.shape.rank());
  move_each(call, [&](const Index& index) {
    Index which, from;
    for (int i = 0; i < indices.shape.rank(); ++i) which[i] = index[axis + i];
    for (int i = 0; i < axis; ++i) from[i] = index[i];
    from[axis] = wrap_index(indices[indices.offset_of(which)], x.shape[axis]);
    for (int i = axis + 1; i < x.shape.rank(); ++i) from[i] = index[i + indices.shape.rank() - 1];
    return from;
  });
}

inline void gather_elements(Call& call) {
  const Array& x = call.operand(0);
  const int axis = axis_of(call.attr(0), x.shape.rank());
  move_each(call, [&](Index index) {
    index[axis] = wrap_index(call.operand(1)[call.operand(1).offset_of(index)], x.shape[axis]);
    return index;
  });
}

inline void gather_nd(Call& call) {
  const Array& x = call.operand(0);
  const Array& indices = call.operand(1);
  const int last = indices.shape.rank() - 1, batch = static_cast<int>(call.attr(0));
  const int depth = static_cast<int>(indices.shape[last]);
  move_each(call, [&](const Index& index) {
    Index which = index, from;
    for (int i = 0; i < batch; ++i) from[i] = index[i];
    for (int i = 0; i < depth; ++i) {
      which[last] = i;
      from[batch + i] = wrap_index(indices[indices.offset_of(which)], x.shape[batch + i]);
    }
    for (int i = batch + depth; i < x.shape.rank(); ++i) from[i] = index[i - batch - depth + last];
    return from;
  });
}

// attrs: the diagonal, and whether what is above it is kept (1) or what is below (0).
inline void triangle(Call& call) {
  Array& result = call.result();
  const int rank = result.shape.rank();
  for (int64_t i = 0; i < result.count(); ++i) {
    const Index index = result.index_of(i);
    const int64_t diagonal = index[rank - 1] - index[rank - 2];
    const bool kept = call.attr(1) != 0 ? diagonal >= call.attr(0) : diagonal <= call.attr(0);
    if (kept) copy_element(result, i, call.operand(0), i);
  }
}

// attrs: the axis, the depth. Operands: indices, the value off, the value on.
inline void one_hot(Call& call) {
  Array& result = call.result();
  const Array& indices = call.operand(0);
  const int axis = axis_of(call.attr(0), result.shape.rank());
  for (int64_t i = 0; i < result.count(); ++i) {
    const Index index = result.index_of(i);
    Index which;
    for (int a = 0; a < indices.shape.rank(); ++a) which[a] = index[a < axis ? a : a + 1];
    int64_t hot = static_cast<int64_t>(indices[indices.offset_of(which)]);
    if (hot < 0) hot += call.attr(1);
    copy_element(result, i, call.operand(hot == index[axis] ? 2 : 1), 0);
  }
}

// Operands: the first number, the step.
inline void iota(Call& call) {
  for (int64_t i = 0; i < call.result().count(); ++i) {
    call.result()[i] = call.operand(0)[0] + static_cast<double>(i) * call.operand(1)[0];
  }
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_MOVEMENT_REFERENCE_H_
