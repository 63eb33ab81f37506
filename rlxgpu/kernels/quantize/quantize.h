// quantize, dequantize, dynamic_quantize, fake_quantize: floats as small integers, q = round(x / scale) + zero_point.
//
//   Tensor q = quantize(x, scale, zero_point);                        // one scale, or one for each index of an axis
//   Tensor y = dequantize(q, scales, zeros, {.axis = 0, .block = 32});  // one for every 32 neighbours along axis 0
//   auto [q, scale, zero] = dynamic_quantize(x, i8, {.axis = 0});     // scales that fit x, one for each row
//
// Halves round to even, and what does not fit becomes the least or greatest integer. The integer type is that of the zero
// point: u8 or i8. All are maps (and reductions): they join the kernels around them. Where x / scale is within the
// device's error of a half, the result may be the neighbouring integer.
#ifndef RLXGPU_KERNELS_QUANTIZE_QUANTIZE_H_
#define RLXGPU_KERNELS_QUANTIZE_QUANTIZE_H_

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"

namespace rlxgpu::core {

// How scales lie along x. One number is for the whole tensor, whatever is said here.
struct QuantizeOptions {
  int axis = -1;      // scales of rank 1: one for each index of this axis
  int64_t block = 0;  // above 0: scales are shaped like x, with one for every `block` neighbours along the axis
};
struct Quantized {
  Tensor values, scale, zero_point;
};

namespace internal {

// Scales or zero points as a tensor that broadcasts with x.
constexpr Tensor beside(Tensor scale, Tensor x, const QuantizeOptions& options, Site site) {
  const Shape &shape = x.shape(), &given = scale.shape();
  Builder& g = x.builder();
  if (!g.ok() || given.rank() == 0) return scale;
  const int axis = normalise_axis(options.axis, shape.rank());
  if (axis < 0) {
    g.fail(site, site.called, '(', shape, ", ", given, "): axis ", options.axis, " does not exist");
    return {&g, -1};
  }
  if (options.block <= 0) {
    if (given.rank() != 1 || given[0] != shape[axis]) {
      g.fail(site, site.called, '(', shape, ", ", given, "): axis ", axis, " wants ", shape[axis], " scales, or one for all");
      return {&g, -1};
    }
    Shape to;
    for (int i = 0; i < shape.rank(); ++i) to.push_back(i == axis ? given.dim(0) : Dim(1));
    return reshape(scale, to, site);
  }
  Shape wanted = shape, blocks, joined;
  wanted.set(axis, Dim((shape[axis] + options.block - 1) / options.block));
  if (given != wanted) {
    g.fail(site, site.called, '(', shape, ", ", given, "): blocks of ", options.block, " along axis ", axis, " want scales of ", wanted);
    return {&g, -1};
  }
  for (int i = 0; i < shape.rank(); ++i) {
    blocks.push_back(wanted.dim(i)), joined.push_back(i == axis ? Dim(wanted[i] * options.block) : wanted.dim(i));
    if (i == axis) blocks.push_back(Dim(options.block));
  }
  const Tensor spread = reshape(expand(unsqueeze(scale, {axis + 1}, site), blocks, site), joined, site);
  return joined == shape ? spread : narrow(spread, axis, 0, shape[axis], site);
}

// As floats: whole numbers, of any size.
constexpr Tensor unbounded(Tensor x, Tensor scale, Tensor zero_point, const QuantizeOptions& options, Site site) {
  const Tensor by = beside(scale, x, options, site), zero = beside(zero_point, x, options, site);
  if (!x.builder().ok()) return {&x.builder(), -1};
  return round(cast(x, f32, site) / cast(by, f32, site)) + cast(zero, f32, site);
}
constexpr Tensor quantized(Tensor x, Tensor scale, Tensor zero_point, const QuantizeOptions& options, Site site) {
  return cast(unbounded(x, scale, zero_point, options, site), zero_point.dtype(), site);
}

}  // namespace internal

// For formats that are not integers: the scale of every element, as a tensor that broadcasts with x.
constexpr Tensor scales_beside(Tensor scale, Tensor x, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  return internal::beside(scale, x, options, site.as("scales_beside"));
}

constexpr Tensor quantize(Tensor x, Tensor scale, Tensor zero_point, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  if (g.ok() && zero_point.dtype() != u8 && zero_point.dtype() != i8) g.fail(site, "quantize: a zero point of ", name_of(zero_point.dtype()), ", u8 or i8 are possible");
  return internal::quantized(x, scale, zero_point, options, site.as("quantize"));
}
// Around zero.
constexpr Tensor quantize(Tensor x, Tensor scale, DType dtype, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  return quantize(x, scale, x.builder().literal(0, dtype), options, site);
}

// Integers of any width, held in the zero point's type: between `low` and `high`, which it must be able to hold.
constexpr Tensor quantize_between(Tensor x, Tensor scale, Tensor zero_point, double low, double high, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  const Site here = site.as("quantize_between");
  const Tensor whole = internal::unbounded(x, scale, zero_point, options, here);
  return cast(clamp(whole, Rhs(low, here), Rhs(high, here)), zero_point.dtype(), here);
}

// (q - zero_point) * scale, in the scale's type.
constexpr Tensor dequantize(Tensor q, Tensor scale, Tensor zero_point, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  const Site here = site.as("dequantize");
  const Tensor by = internal::beside(scale, q, options, here), zero = internal::beside(zero_point, q, options, here);
  if (!q.builder().ok()) return {&q.builder(), -1};
  return cast(cast(cast(q, i32, here) - cast(zero, i32, here), f32, here) * cast(by, f32, here), scale.dtype(), here);
}
constexpr Tensor dequantize(Tensor q, Tensor scale, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  return dequantize(q, scale, q.builder().literal(0, q.dtype()), options, site);
}

// What is left of x after quantize and dequantize.
constexpr Tensor fake_quantize(Tensor x, Tensor scale, Tensor zero_point, const QuantizeOptions& options = {}, Site site = std::source_location::current()) {
  return dequantize(quantize(x, scale, zero_point, options, site), scale, zero_point, options, site);
}

inline constexpr int kWholeTensor = 1 << 30;  // as an axis: one scale for all

// u8: from the least to the greatest element, 0 included and exact. i8: as far below zero as above, zero point 0. A
// tensor (row, block) of zeros has scale 1.
constexpr Quantized dynamic_quantize(Tensor x, DType dtype = u8, const QuantizeOptions& options = {.axis = kWholeTensor}, Site site = std::source_location::current()) {
  Builder& g = x.builder();
  const Shape& shape = x.shape();
  const Site here = site.as("dynamic_quantize");
  const bool whole = options.axis == kWholeTensor;
  const int axis = whole ? 0 : normalise_axis(options.axis, shape.rank());
  if (g.ok() && dtype != u8 && dtype != i8) g.fail(site, "dynamic_quantize: ", name_of(dtype), " is wanted, u8 or i8 are possible");
  if (g.ok() && axis < 0) g.fail(site, "dynamic_quantize(", shape, "): axis ", options.axis, " does not exist");
  if (g.ok() && options.block > 0 && (whole || shape[axis] % options.block != 0)) {
    g.fail(site, "dynamic_quantize(", shape, "): blocks of ", options.block, " do not divide the axis");
  }
  if (!g.ok()) return {{&g, -1}, {&g, -1}, {&g, -1}};
  // One row for each scale, along axes that are reduced.
  Tensor rows = cast(x, f32, here);
  Axes reduced;
  if (options.block > 0) {
    Shape blocks;
    for (int i = 0; i < shape.rank(); ++i) {
      blocks.push_back(i == axis ? Dim(shape[i] / options.block) : shape.dim(i));
      if (i == axis) blocks.push_back(Dim(options.block));
    }
    rows = reshape(rows, blocks, here);
    reduced = Axes(axis + 1);
  } else if (!whole && shape.rank() == 1) {  // every element is a row
    rows = unsqueeze(rows, {1}, here);
    reduced = Axes(1);
  } else {
    for (int i = 0; i < shape.rank(); ++i) {
      if (whole || i != axis) reduced.axis[reduced.count++] = i;
    }
  }
  const bool symmetric = dtype == i8;
  Tensor low, high;
  if (symmetric) {
    high = reduce_max(abs(rows), reduced, {}, here);
  } else {
    high = max(reduce_max(rows, reduced, {}, here), 0.0f), low = min(reduce_min(rows, reduced, {}, here), 0.0f);
  }
  const Tensor range = symmetric ? high * (1.0f / 127) : (high - low) * (1.0f / 255);
  const Tensor scale = where(eq(range, 0.0f), 1.0f, range);
  const Tensor zero = symmetric ? cast(scale * 0.0f, i8, here) : cast(round(neg(low) / scale), u8, here);
  return {internal::quantized(x, scale, zero, options, here), scale, zero};
}

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::QuantizeOptions, core::Quantized, core::dequantize, core::dynamic_quantize, core::fake_quantize,
    core::kWholeTensor, core::quantize, core::quantize_between;
}  // namespace rlxgpu

#endif  // RLXGPU_KERNELS_QUANTIZE_QUANTIZE_H_
