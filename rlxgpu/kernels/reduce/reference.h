// What reductions mean.
#ifndef RLXGPU_KERNELS_REDUCE_REFERENCE_H_
#define RLXGPU_KERNELS_REDUCE_REFERENCE_H_

#include <cmath>
#include <limits>
#include <vector>

#include "rlxgpu/kernels/reduce/shape.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

// The elements of each row of x: those that share their coordinates along the axes not reduced.
inline std::vector<std::vector<double>> rows_of(const reference::Array& x, std::span<const int64_t> axes) {
  const ReducedAxes reduced(axes, x.shape.rank());
  const Shape kept = reduced_shape(x.shape, axes, true);
  std::vector<std::vector<double>> rows(static_cast<size_t>(kept.count()));
  for (int64_t i = 0; i < x.count(); ++i) {
    const reference::Index at = x.index_of(i);
    int64_t row = 0;
    for (int axis = 0; axis < x.shape.rank(); ++axis) row = row * kept[axis] + (reduced[axis] ? 0 : at[axis]);
    rows[static_cast<size_t>(row)].push_back(x[i]);
  }
  return rows;
}

// The least (-1) or greatest (+1) value of a type.
inline double limit_of(DType dtype, int sign) {
  switch (dtype) {
    case DType::i32:
      return sign < 0 ? -2147483648.0 : 2147483647.0;
    case DType::u32:
      return sign < 0 ? 0.0 : 4294967295.0;
    case DType::i8:
      return sign < 0 ? -128.0 : 127.0;
    case DType::u8:
      return sign < 0 ? 0.0 : 255.0;
    case DType::boolean:
      return sign < 0 ? 0.0 : 1.0;
    default:
      return sign * std::numeric_limits<double>::infinity();
  }
}

// Integers modulo 2^32, of which narrower types keep the low bits: exact products would not fit a double.
inline double product_of(double a, double b, DType dtype) {
  if (!is_integer(dtype)) return a * b;
  return static_cast<double>(static_cast<int32_t>(static_cast<int64_t>(a) * static_cast<int64_t>(b)));
}

inline double max_of(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::fmax(a, b); }
inline double min_of(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::fmin(a, b); }

inline double reduced_value(Reduce kind, const std::vector<double>& row, DType dtype) {
  const double least = limit_of(dtype, -1), greatest = limit_of(dtype, +1);
  double sum = 0, product = 1, magnitudes = 0, squares = 0, exps = 0, max = least, min = greatest;
  for (const double v : row) {
    sum += v;
    product = product_of(product, v, dtype);
    magnitudes += std::fabs(v);
    squares += v * v;
    max = max_of(max, v);
    min = min_of(min, v);
  }
  for (const double v : row) exps += std::exp(v - max);
  switch (kind) {
    case Reduce::sum:
      return sum;
    case Reduce::mean:
      return sum / static_cast<double>(row.size());
    case Reduce::prod:
      return product;
    case Reduce::max:
      return max;
    case Reduce::min:
      return min;
    case Reduce::l1:
      return magnitudes;
    case Reduce::l2:
      return std::sqrt(squares);
    case Reduce::sum_square:
      return squares;
    case Reduce::log_sum_exp:
      return std::isfinite(max) ? max + std::log(exps) : max;
    case Reduce::any:
      return row.empty() ? 0 : max;
    case Reduce::all:
      return row.empty() ? 1 : min;
  }
  return 0;
}

template <Reduce kKind>
inline void reduce_reference(reference::Call& call) {
  const auto rows = rows_of(call.operand(0), call.attrs.subspan(1));
  for (size_t i = 0; i < rows.size(); ++i) {
    call.result()[static_cast<int64_t>(i)] = reduced_value(kKind, rows[i], call.operand(0).dtype);
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_REFERENCE_H_
