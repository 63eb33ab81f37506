// The exponential of a number that is not positive, as WGSL: what softmax and attention need, fast and accurate
// everywhere.
#ifndef KERNELS_SOFTMAX_DECAY_H_
#define KERNELS_SOFTMAX_DECAY_H_

namespace rlxgpu {

inline constexpr char kDecayText[] = R"wgsl(
// exp(d) for d <= 0; exactly 0 below -88, where the power of two is. Drivers' exp may be hundreds of ulps off; this polynomial
// (Cephes) is not.
fn decay(d : f32) -> f32 {
  let c = max(d, -88.0f);
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<f32>(u32(i32(n) + 127) << 23u);
}
// The same of four, each at most 0.
fn decay4(d : vec4f) -> vec4f {
  let c = max(d, vec4f(-88.0f));
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<vec4f>(vec4u(vec4i(n) + 127) << vec4u(23u));
}
)wgsl";

}  // namespace rlxgpu

#endif  // KERNELS_SOFTMAX_DECAY_H_
