// The WGSL of log_sum_exp: (m, s) stands for s exp(m), where m is the greatest element so far, so that no
// exponential overflows. Nothing yet, or only -infinity: s = 0 and the least finite m.
#ifndef RLXGPU_KERNELS_REDUCE_LOG_SUM_EXP_H_
#define RLXGPU_KERNELS_REDUCE_LOG_SUM_EXP_H_

namespace rlxgpu::core {

inline constexpr char kLogSumExpIdentity[] = "fn identity() -> Acc { return vec2f(-0x1.fffffep+127f, 0.0f); }";

inline constexpr char kLogSumExpLift[] = R"wgsl(
fn lift(v : Elem) -> Acc { return select(vec2f(v, 1.0f), identity(), bitcast<u32>(v) == 0xff800000u); }
)wgsl";

inline constexpr char kLogSumExpCombine[] = R"wgsl(
fn combine(a : Acc, b : Acc) -> Acc {
  if (is_nan(a.x)) { return a; }
  if (is_nan(b.x)) { return b; }
  let greater = select(a, b, b.x > a.x);
  let other = select(b, a, b.x > a.x);
  return vec2f(greater.x, greater.y + other.y * decay(other.x - greater.x));
}
fn is_nan(v : f32) -> bool { return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; }
// exp(d) for d <= 0; exactly 0 below -87. Drivers' exp may be hundreds of ulps off; this polynomial (Cephes) is not.
fn decay(d : f32) -> f32 {
  let c = max(d, -87.0f);
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  let e = (1.0f + (r + r * r * tail)) * bitcast<f32>((bitcast<u32>(n + 12582912.0f) << 23u) + 0x3f800000u);
  return select(0.0f, e, d >= -87.0f);
}
)wgsl";

inline constexpr char kLogSumExpFinish[] = R"wgsl(
fn finish(acc : Acc) -> Result {
  if (acc.y == 0.0f) { return from_bits(0xff800000u); }
  if ((bitcast<u32>(acc.x) & 0x7f800000u) == 0x7f800000u) { return acc.x; }
  return acc.x + log(acc.y);
}
fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }
)wgsl";

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_REDUCE_LOG_SUM_EXP_H_
