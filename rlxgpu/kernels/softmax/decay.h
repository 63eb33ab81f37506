// The exponential of a number that is not positive, as WGSL: what softmax and attention need, fast and accurate
// everywhere.
#ifndef RLXGPU_KERNELS_SOFTMAX_DECAY_H_
#define RLXGPU_KERNELS_SOFTMAX_DECAY_H_

namespace rlxgpu::core {

inline constexpr char kDecayText[] = R"wgsl(
// exp(d) for d <= 0; exactly 0 below -88, where the power of two is. Drivers' exp may be hundreds of ulps off; this polynomial
// (Cephes) is not. Added to 1.5 * 2^23, n stands in the low bits as an integer: conversions saturate, for which lavapipe
// takes vectors apart (softmax 1024 x 1024: 1.7 ms with i32(n), 0.9 so).
fn decay(d : f32) -> f32 {
  let c = max(d, -88.0f);
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<f32>((bitcast<u32>(n + 12582912.0f) << 23u) + 0x3f800000u);
}
// The same of four, each at most 0.
fn decay4(d : vec4f) -> vec4f {
  let c = max(d, vec4f(-88.0f));
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<vec4f>((bitcast<vec4u>(n + 12582912.0f) << vec4u(23u)) + 0x3f800000u);
}
)wgsl";

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_SOFTMAX_DECAY_H_
