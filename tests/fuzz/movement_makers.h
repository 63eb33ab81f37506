// Makers of ops that move elements: views, copies, gathers, scatters, and tensors made of coordinates.
#ifndef RLXGPU_TESTS_FUZZ_MOVEMENT_MAKERS_H_
#define RLXGPU_TESTS_FUZZ_MOVEMENT_MAKERS_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/resize/resize.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "tests/fuzz/generator.h"

namespace rlxgpu::core::fuzz {

inline Tensor make_reshape(Generator& f) {
  const Tensor x = f.any();
  const Shape& from = x.shape();
  if (from.dynamic()) return from.rank() < kMaxRank ? unsqueeze(x, {f.random.below(from.rank() + 1)}) : x;
  switch (f.random.below(4)) {
    case 0:
      return reshape(x, {from.count()});
    case 1:
      return from.rank() > 0 ? flatten(x, f.random.below(from.rank() + 1)) : reshape(x, {1, 1});
    case 2:
      return squeeze(x);
    default: {  // factors in some order
      int64_t left = from.count();
      Shape to;
      for (const int64_t factor : {2, 3, 2}) {
        if (left > 0 && left % factor == 0) to.push_back(factor), left /= factor;
      }
      to.push_back(left);
      return reshape(x, to);
    }
  }
}

inline Tensor make_transpose(Generator& f) {
  const Tensor x = f.any_with_axis();
  const int rank = x.shape().rank();
  IntList order;
  for (int axis = 0; axis < rank; ++axis) order.push_back(axis);
  for (int axis = rank - 1; axis > 0; --axis) std::swap(order[axis], order[static_cast<int>(f.random.below(axis + 1))]);
  return transpose(x, order);
}

// Axes that may be cut, padded, rolled or joined.
inline bool is_fixed(Tensor x, int axis) { return x.shape().symbol(axis) < 0; }

inline Tensor make_slice(Generator& f) {
  const Tensor x = f.any_with_axis();
  IntList starts, ends, steps;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t extent = x.shape()[axis];
    if (!is_fixed(x, axis) || extent == 0 || f.random.chance(0.4)) {
      starts.push_back(0), ends.push_back(kEnd), steps.push_back(1);
    } else if (f.random.chance(0.3)) {
      starts.push_back(f.random.below(extent)), ends.push_back(kBegin), steps.push_back(-f.random.between(1, 3));
    } else {
      const int64_t start = f.random.below(extent);
      starts.push_back(f.random.chance(0.2) ? start - extent : start);
      ends.push_back(f.random.chance(0.5) ? kEnd : f.random.between(start + 1, extent));
      steps.push_back(f.random.between(1, 3));
    }
  }
  if (f.random.chance(0.2) && !x.shape().dynamic()) return reverse(x);
  return slice(x, starts, ends, steps);
}

inline Tensor make_expand(Generator& f) {
  const Tensor x = f.any();
  const Shape& from = x.shape();
  if (f.random.chance(0.3) && !from.dynamic() && from.count() <= 200) {
    IntList repeats;
    for (int axis = 0; axis < from.rank(); ++axis) repeats.push_back(f.random.pick({1, 1, 2, 3}));
    return tile(x, repeats);
  }
  Shape to;
  if (from.rank() < kMaxRank && f.random.chance(0.5)) to.push_back(f.random.pick({1, 2, 3}));
  for (int axis = 0; axis < from.rank(); ++axis) {
    const bool stretch = from.dim(axis) == Dim(1) && f.random.chance(0.6);
    to.push_back(stretch ? Dim(f.random.pick({2, 5})) : from.dim(axis));
  }
  return to.count() <= 4000 ? expand(x, to) : x;
}

inline Tensor make_pad(Generator& f) {
  const Tensor x = f.any_with_axis();
  if (x.shape().count() > 600) return x;
  const PadMode mode =
      f.random.pick({PadMode::constant, PadMode::constant, PadMode::reflect, PadMode::edge, PadMode::wrap});
  IntList before, after;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t extent = x.shape()[axis];
    const bool pads = is_fixed(x, axis) && (extent > 0 || mode == PadMode::constant) && f.random.chance(0.4);
    const bool cuts = extent > 2 && f.random.chance(0.15);
    before.push_back(!pads ? 0 : cuts ? -1 : f.random.below(3));
    after.push_back(!pads ? 0 : cuts ? -1 : f.random.below(3));
  }
  return pad(x, before, after, mode, 1.0f);
}

inline Tensor make_resize(Generator& f) {
  const Tensor x = f.any_with_axis();
  if (x.shape().count() > 400) return x;
  ResizeOptions options;
  options.mode = !is_float(x.dtype())
                     ? ResizeMode::nearest
                     : f.random.pick({ResizeMode::nearest, ResizeMode::linear, ResizeMode::linear, ResizeMode::cubic});
  options.coordinates =
      f.random.pick({ResizeCoordinates::half_pixel, ResizeCoordinates::align_corners, ResizeCoordinates::asymmetric});
  options.exclude_outside = f.random.chance(0.3);
  options.antialias = f.random.chance(0.3);
  std::vector<ResizeAxis> axes;
  for (int axis = 0; axis < x.shape().rank(); ++axis) {
    const int64_t extent = x.shape()[axis];
    if (is_fixed(x, axis) && extent > 0 && f.random.chance(0.5))
      axes.push_back({.axis = axis, .size = f.random.between(1, 2 * extent + 1)});
  }
  return resize(x, axes, options);
}

inline Tensor make_roll(Generator& f) {
  const Tensor x = f.any_with_axis();
  const int axis = f.axis_of(x);
  if (!is_fixed(x, axis)) return x;
  if (x.shape().rank() >= 2 && f.random.chance(0.4))
    return f.random.chance(0.5) ? tril(x, f.random.between(-1, 1)) : triu(x, f.random.between(-1, 1));
  return roll(x, f.random.between(-4, 4), axis);
}

inline Tensor make_concat(Generator& f) {
  const Tensor x = f.any_with_axis();
  const int axis = f.axis_of(x);
  if (!is_fixed(x, axis) || x.shape().count() > 800) return x;
  std::vector<Tensor> parts = {x};
  const int64_t more = f.random.between(1, 3);
  for (int64_t i = 0; i < more; ++i) {
    Shape shape = x.shape();
    shape.set(axis, f.random.pick({1, 2, 3}));
    parts.push_back(f.random.chance(0.3) ? x : f.source(x.dtype(), shape));
  }
  std::swap(parts[0], parts[static_cast<size_t>(f.random.below(static_cast<int64_t>(parts.size())))]);
  return concat(std::span<const Tensor>(parts), axis);
}

inline Tensor make_gather(Generator& f) {
  const Tensor x = f.any_with_axis();
  const int axis = f.axis_of(x);
  if (!is_fixed(x, axis) || x.shape()[axis] == 0 || x.shape().count() > 600) return x;
  const DType index = f.random.chance(0.7) ? i32 : u32;
  switch (f.random.below(3)) {
    case 0: {
      if (x.shape().rank() == kMaxRank) return x;
      return gather(x, f.source(index, f.random.pick({Shape{}, Shape{3}, Shape{2, 2}})), axis);
    }
    case 1: {
      Shape shape = x.shape();
      shape.set(axis, f.random.pick({1, 2, 5}));
      return gather_elements(x, f.source(index, shape), axis);
    }
    default: {
      if (!is_fixed(x, 0) || x.shape()[0] == 0) return x;
      return gather_nd(x, f.source(index, {3, 1}));
    }
  }
}

inline Tensor make_scatter(Generator& f) {
  const Tensor x = f.any_with_axis();
  if (x.shape().dynamic() || x.shape().count() == 0 || x.shape().count() > 600) return x;
  const bool numbers = x.dtype() != boolean && x.dtype() != c64;
  const Scatter mode = numbers
                           ? f.random.pick({Scatter::replace, Scatter::add, Scatter::mul, Scatter::max, Scatter::min})
                           : Scatter::replace;
  const DType index = f.random.chance(0.7) ? i32 : u32;
  if (f.random.chance(0.3)) {
    Shape slices;
    slices.push_back(3);
    for (int axis = 1; axis < x.shape().rank(); ++axis) slices.push_back(x.shape().dim(axis));
    const Tensor indices = f.source(index, {3, 1});
    return scatter_nd(x, indices, f.source(x.dtype(), slices), mode);
  }
  const int axis = f.axis_of(x);
  Shape shape = x.shape();
  shape.set(axis, f.random.pick({1, 2, 5}));
  const Tensor indices = f.source(index, shape);
  return scatter_elements(x, indices, f.source(x.dtype(), shape), axis, mode);
}

inline Tensor make_generated(Generator& f) {
  if (f.random.chance(0.5)) return iota(f.g, f.random.pick({f32, i32, u32, f16}), f.random.pick({3, 8, 17}), 1, 2);
  const Tensor indices = f.any_of(i32);
  if (indices.shape().rank() == kMaxRank || indices.shape().count() > 300) return indices;
  return one_hot(indices, f.random.pick({3, 5}), f.random.chance(0.5) ? -1 : 0, f.float_type());
}

}  // namespace rlxgpu::core::fuzz

#endif  // RLXGPU_TESTS_FUZZ_MOVEMENT_MAKERS_H_
