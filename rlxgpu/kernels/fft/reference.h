// What the Fourier transforms mean: sums, term by term.
#ifndef RLXGPU_KERNELS_FFT_REFERENCE_H_
#define RLXGPU_KERNELS_FFT_REFERENCE_H_

#include <vector>

#include "rlxgpu/kernels/fft/circle.h"
#include "rlxgpu/kernels/fft/plan.h"
#include "rlxgpu/reference/call.h"

namespace rlxgpu::core {

// Attributes: fourier::Kind, axis, fourier::Norm, n.
inline void fft_reference(reference::Call& call) {
  const reference::Array& x = call.operand(0);
  reference::Array& y = call.result();
  const auto kind = static_cast<fourier::Kind>(call.attr(0));
  const int axis = normalise_axis(call.attr(1), x.shape.rank());
  const int64_t n = call.attr(3), inner = x.shape.count(axis + 1, x.shape.rank()), given = x.shape[axis],
                wanted = y.shape[axis];
  const bool inverse = kind == fourier::Kind::inverse || kind == fourier::Kind::real_inverse;
  const double scale = fourier::scale_of(kind, static_cast<fourier::Norm>(call.attr(2)), n);
  std::vector<Turn> roots(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k) roots[static_cast<size_t>(k)] = turn(inverse ? k : -k, n);
  for (int64_t row = 0; row < x.shape.count(0, axis) * inner; ++row) {
    const int64_t from = row / inner * given * inner + row % inner, to = row / inner * wanted * inner + row % inner;
    for (int64_t k = 0; k < wanted; ++k) {
      double re = 0, im = 0;
      for (int64_t j = 0; j < n; ++j) {
        const bool mirrored = j >= given;  // of a real result: the conjugate of what is given
        const int64_t at = from + (mirrored ? n - j : j) * inner;
        const double a = x.dtype == c64 ? x[2 * at] : x[at],
                     b = x.dtype == c64 ? (mirrored ? -x[2 * at + 1] : x[2 * at + 1]) : 0;
        const Turn w = roots[static_cast<size_t>(j * k % n)];
        re += a * w.cos - b * w.sin, im += a * w.sin + b * w.cos;
      }
      const int64_t at = to + k * inner;
      if (y.dtype != c64) {
        y[at] = re * scale;
      } else {
        y[2 * at] = re * scale, y[2 * at + 1] = im * scale;
      }
    }
  }
}

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_FFT_REFERENCE_H_
