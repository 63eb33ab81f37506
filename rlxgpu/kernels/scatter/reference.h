// What scatter_elements and scatter_nd mean.
#ifndef RLXGPU_KERNELS_SCATTER_REFERENCE_H_
#define RLXGPU_KERNELS_SCATTER_REFERENCE_H_

#include <cstdint>

#include "rlxgpu/kernels/reduce/reference.h"
#include "rlxgpu/kernels/scatter/shape.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

inline double scattered(Scatter mode, double old, double update, DType dtype) {
  switch (mode) {
    case Scatter::replace:
      return update;
    case Scatter::add:
      return old + update;
    case Scatter::mul:
      return product_of(old, update, dtype);
    case Scatter::max:
      return max_of(old, update);
    case Scatter::min:
      return min_of(old, update);
  }
  return 0;
}

// Where an index means, or -1.
inline int64_t place_of(double index, int64_t extent) {
  const auto given = static_cast<int64_t>(index);
  const int64_t place = given < 0 ? given + extent : given;
  return place >= 0 && place < extent ? place : -1;
}

// One element of the updates; of complex numbers both parts.
inline void scatter_one(reference::Call& call, int64_t to, int64_t from) {
  const reference::Array& updates = call.operand(2);
  const int parts = updates.dtype == c64 ? 2 : 1;
  for (int part = 0; part < parts; ++part) {
    double& old = call.result()[to * parts + part];
    old = scattered(static_cast<Scatter>(call.attr(0)), old, updates[from * parts + part], updates.dtype);
  }
}

inline void scatter_elements_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const reference::Array& indices = call.operand(1);
  const int axis = normalise_axis(call.attr(1), x.shape.rank());
  call.result().data = x.data;
  for (int64_t i = 0; i < indices.count(); ++i) {
    reference::Index at = indices.index_of(i);
    at[axis] = place_of(indices[i], x.shape[axis]);
    if (at[axis] >= 0) scatter_one(call, x.offset_of(at), i);
  }
}

inline void scatter_nd_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  const reference::Array& indices = call.operand(1);
  const int last = indices.shape.rank() - 1;
  const auto tuple = static_cast<int>(indices.shape[last]);
  const int64_t inner = x.shape.count(tuple, x.shape.rank());
  call.result().data = x.data;
  for (int64_t t = 0; t < indices.shape.count(0, last); ++t) {
    int64_t place = 0;
    for (int axis = 0; axis < tuple && place >= 0; ++axis) {
      const int64_t c = place_of(indices[t * tuple + axis], x.shape[axis]);
      place = c < 0 ? -1 : place * x.shape[axis] + c;
    }
    for (int64_t i = 0; place >= 0 && i < inner; ++i) scatter_one(call, place * inner + i, t * inner + i);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SCATTER_REFERENCE_H_
