// The attributes of layer_norm and rms_norm.
#ifndef RLXGPU_KERNELS_NORM_LAYOUT_H_
#define RLXGPU_KERNELS_NORM_LAYOUT_H_

#include <bit>
#include <cstdint>
#include <span>

namespace rlxgpu::core {

// Axes [first, last) are normalised together. Operands: x, then weight and bias, if there are any. Results: the norm,
// and x itself, if that is kept.
struct NormAttrs {
  int first = 0, last = 0;
  bool has_weight = false, has_bias = false;
  bool centred = true;  // layer_norm; rms_norm leaves the mean where it is
  float epsilon = 0;
  bool keep = false;

  constexpr explicit NormAttrs(std::span<const int64_t> attrs)
      : first(static_cast<int>(attrs[0])),
        last(static_cast<int>(attrs[1])),
        has_weight(attrs[2] != 0),
        has_bias(attrs[3] != 0),
        centred(attrs[4] != 0),
        epsilon(std::bit_cast<float>(static_cast<uint32_t>(attrs[5]))),
        keep(attrs[6] != 0) {}
};

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_NORM_LAYOUT_H_
