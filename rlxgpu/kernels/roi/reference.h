// What roi_align and max_roi_pool mean.
#ifndef RLXGPU_KERNELS_ROI_REFERENCE_H_
#define RLXGPU_KERNELS_ROI_REFERENCE_H_

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "rlxgpu/reference/call.h"

namespace rlxgpu::core::reference {

inline void roi_align(Call& call) {
  const Array &x = call.operand(0), &regions = call.operand(1), &batches = call.operand(2);
  Array& y = call.result();
  const double scale = call.attr_float(2), shift = call.attr(4) != 0 ? 0.5 : 0;
  const int64_t rows = x.shape[2], cols = x.shape[3];
  for (int64_t i = 0; i < y.count(); ++i) {
    const Index at = y.index_of(i);
    const auto side = [&](int64_t k) { return regions[at[0] * 4 + k] * scale - shift; };
    double width = side(2) - side(0), height = side(3) - side(1);
    if (shift == 0) width = std::max(width, 1.0), height = std::max(height, 1.0);
    const double cell_w = width / static_cast<double>(call.attr(1)),
                 cell_h = height / static_cast<double>(call.attr(0));
    const auto samples = [&](double size) {
      return call.attr(3) > 0 ? call.attr(3) : static_cast<int64_t>(std::max(std::ceil(size), 0.0));
    };
    const int64_t across = samples(cell_w), down = samples(cell_h);
    const auto image = std::clamp<int64_t>(static_cast<int64_t>(batches[at[0]]), 0, x.shape[0] - 1);
    const int64_t base = (image * x.shape[1] + at[1]) * rows * cols;
    double sum = 0, greatest = 0;
    for (int64_t r = 0; r < down; ++r) {
      for (int64_t c = 0; c < across; ++c) {
        double row = side(1) + static_cast<double>(at[2]) * cell_h +
                     (static_cast<double>(r) + 0.5) * cell_h / static_cast<double>(down);
        double col = side(0) + static_cast<double>(at[3]) * cell_w +
                     (static_cast<double>(c) + 0.5) * cell_w / static_cast<double>(across);
        double share[4] = {};
        if (row >= -1 && col >= -1 && row <= static_cast<double>(rows) && col <= static_cast<double>(cols)) {
          row = std::clamp(row, 0.0, static_cast<double>(rows - 1)),
          col = std::clamp(col, 0.0, static_cast<double>(cols - 1));
          const auto top = static_cast<int64_t>(row), left = static_cast<int64_t>(col);
          const double below = row - static_cast<double>(top), right = col - static_cast<double>(left);
          for (int corner = 0; corner < 4; ++corner) {
            const int64_t rr = std::min(top + corner / 2, rows - 1), cc = std::min(left + corner % 2, cols - 1);
            share[corner] = x[base + rr * cols + cc] * (corner / 2 == 1 ? below : 1 - below) *
                            (corner % 2 == 1 ? right : 1 - right);
          }
        }
        const double most = *std::max_element(share, share + 4);
        greatest = r == 0 && c == 0 ? most : std::max(greatest, most);
        sum += share[0] + share[1] + share[2] + share[3];
      }
    }
    y[i] = call.attr(5) != 0 ? greatest : sum / static_cast<double>(std::max<int64_t>(across * down, 1));
  }
}

inline void max_roi_pool(Call& call) {
  const Array &x = call.operand(0), &regions = call.operand(1);
  Array& y = call.result();
  for (int64_t i = 0; i < y.count(); ++i) {
    const Index at = y.index_of(i);
    const auto given = [&](int64_t k) {
      return static_cast<int64_t>(std::round(regions[at[0] * 5 + k] * call.attr_float(2)));
    };
    const auto image = std::clamp<int64_t>(static_cast<int64_t>(regions[at[0] * 5]), 0, x.shape[0] - 1);
    int64_t first[2], last[2];
    for (int side = 0; side < 2; ++side) {  // rows, then columns
      const int64_t begin = given(2 - side), size = std::max<int64_t>(given(4 - side) - begin + 1, 1);
      const auto cell = static_cast<double>(size) / static_cast<double>(call.attr(side));
      const auto place = static_cast<double>(at[2 + side]);
      first[side] =
          std::clamp<int64_t>(begin + static_cast<int64_t>(std::floor(place * cell + 1e-9)), 0, x.shape[2 + side]);
      last[side] =
          std::clamp<int64_t>(begin + static_cast<int64_t>(std::ceil((place + 1) * cell - 1e-9)), 0, x.shape[2 + side]);
    }
    bool any = false;
    for (int64_t r = first[0]; r < last[0]; ++r) {
      for (int64_t c = first[1]; c < last[1]; ++c) {
        const double v = x[((image * x.shape[1] + at[1]) * x.shape[2] + r) * x.shape[3] + c];
        y[i] = any ? std::max(y[i], v) : v;
        any = true;
      }
    }
  }
}

}  // namespace rlxgpu::core::reference

#endif  // RLXGPU_KERNELS_ROI_REFERENCE_H_
