// The WGSL functions behind sin, cos, tan and their inverses. See functions.h.
//
// An argument x is reduced to r in [-pi/4, pi/4] and a quadrant: by subtracting n pi/2 in four pieces while those
// products are exact (|x| < 3000), by multiplying its mantissa with the bits of 2/pi that matter (Payne and Hanek)
// beyond; so every finite x has an accurate sine. Polynomials: Cephes.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_TRIGONOMETRY_H_
#define RLXGPU_KERNELS_ELEMENTWISE_TRIGONOMETRY_H_

namespace rlxgpu::core {

inline constexpr char kTrigonometricFunctions[] = R"wgsl(
struct RlxReduced { r : f32, quadrant : u32 }
fn rlx_mul_high(a : u32, b : u32) -> u32 {
  let low = (a & 0xffffu) * (b & 0xffffu);
  let mid = (a >> 16u) * (b & 0xffffu) + (low >> 16u);
  let mid2 = (a & 0xffffu) * (b >> 16u) + (mid & 0xffffu);
  return (a >> 16u) * (b >> 16u) + (mid >> 16u) + (mid2 >> 16u);
}
fn rlx_two_over_pi(i : u32) -> u32 {
  var words = array<u32, 7>(0x28be60dbu, 0x9391054au, 0x7f09d5f4u, 0x7d4d3770u, 0x36d8a566u, 0x4f10e410u, 0x7f9458eau);
  return words[min(i, 6u)];
}
fn rlx_reduce_large(bits : u32) -> RlxReduced {  // of |x| >= 4
  let mantissa = ((bits & 0x7fffffu) << 8u) | 0x80000000u;
  let exponent = (bits >> 23u) - 126u;
  let i = exponent >> 5u;
  let up = exponent & 31u;
  var high = select(0u, rlx_two_over_pi(i - 1u), i > 0u);
  var mid = rlx_two_over_pi(i);
  var low = rlx_two_over_pi(i + 1u);
  if (up != 0u) {
    high = (high << up) | (mid >> (32u - up));
    mid = (mid << up) | (low >> (32u - up));
    low = (low << up) | (rlx_two_over_pi(i + 2u) >> (32u - up));
  }
  // x 2/pi modulo 4, as 2.62 bits in p_high, p_low
  let carry = rlx_mul_high(mantissa, low);
  var p_low = mantissa * mid + carry;
  var p_high = mantissa * high + rlx_mul_high(mantissa, mid) + select(0u, 1u, p_low < carry);
  let nearest = (p_high + 0x20000000u) & 0xc0000000u;
  p_high -= nearest;  // now a signed fraction, between -1/2 and 1/2
  let negative = (p_high >> 31u) == 1u;
  if (negative) {
    p_low = 0u - p_low;
    p_high = ~p_high + select(0u, 1u, p_low == 0u);
  }
  let zeros = countLeadingZeros(p_high);  // 2 at least
  let top = select((p_high << (zeros & 31u)) | ((p_low >> 1u) >> (31u - (zeros & 31u))), p_low, zeros == 32u);
  let r = f32(top) * bitcast<f32>((127u - 30u - zeros) << 23u) * 1.57079633;
  return RlxReduced(select(r, -r, negative), nearest >> 30u);
}
fn rlx_reduce(x : f32) -> RlxReduced {
  let bits = bitcast<u32>(x) & 0x7fffffffu;
  if (bits >= 0x7f800000u) { return RlxReduced(bitcast<f32>(bits | 0x7fc00000u), 0u); }
  if (bits >= 0x453b8000u) {  // 3000
    let large = rlx_reduce_large(bits);
    if (x < 0.0) { return RlxReduced(-large.r, (0u - large.quadrant) & 3u); }
    return large;
  }
  let n = round(x * 0.636619772);
  let r = (((x - n * 1.5703125) - n * 0x1.fb5p-12) - n * 0x1.11p-26) - n * 0x1.68c234p-39;
  return RlxReduced(r, bitcast<u32>(n + 12582912.0) & 3u);  // n modulo 4, see rlx_int
}
fn rlx_sin_near(r : f32) -> f32 {
  let z = r * r;
  return r + r * z * ((-1.9515295891e-4 * z + 8.3321608736e-3) * z - 1.6666654611e-1);
}
fn rlx_cos_near(r : f32) -> f32 {
  let z = r * r;
  return 1.0 + (z * z * ((2.443315711809948e-5 * z - 1.388731625493765e-3) * z + 4.166664568298827e-2) - 0.5 * z);
}
fn rlx_sin_quadrant(r : f32, quadrant : u32) -> f32 {
  let s = select(rlx_sin_near(r), rlx_cos_near(r), (quadrant & 1u) == 1u);
  return select(s, -s, (quadrant & 2u) == 2u);
}
fn rlx_sin(x : f32) -> f32 {
  let reduced = rlx_reduce(x);
  return rlx_sin_quadrant(reduced.r, reduced.quadrant);
}
fn rlx_cos(x : f32) -> f32 {
  let reduced = rlx_reduce(x);
  return rlx_sin_quadrant(reduced.r, reduced.quadrant + 1u);
}
fn rlx_tan(x : f32) -> f32 {
  let reduced = rlx_reduce(x);
  let z = reduced.r * reduced.r;
  var p = (9.38540185543e-3 * z + 3.11992232697e-3) * z + 2.44301354525e-2;
  p = ((p * z + 5.34112807005e-2) * z + 1.33387994085e-1) * z + 3.33331568548e-1;
  let t = reduced.r + reduced.r * z * p;
  return select(t, -1.0 / t, (reduced.quadrant & 1u) == 1u);
}
)wgsl";

inline constexpr char kInverseTrigonometricFunctions[] = R"wgsl(
fn rlx_atan_ratio(a : f32) -> f32 {  // 0 <= a <= 1
  let upper = a > 0.41421356;
  let x = select(a, (a - 1.0) / (a + 1.0), upper);
  let z = x * x;
  let p = ((8.05374449538e-2 * z - 1.38776856032e-1) * z + 1.99777106478e-1) * z - 3.33329491539e-1;
  return select(0.0, 0.785398163, upper) + (x + x * z * p);
}
fn rlx_atan(x : f32) -> f32 {
  let a = abs(x);
  let inner = rlx_atan_ratio(select(a, 1.0 / a, a > 1.0));
  let r = select(inner, 1.57079633 - inner, a > 1.0);
  return select(select(r, -r, x < 0.0), x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
fn rlx_atan2(y : f32, x : f32) -> f32 {
  let y_bits = bitcast<u32>(y) & 0x7fffffffu;
  let x_bits = bitcast<u32>(x) & 0x7fffffffu;
  if (x_bits > 0x7f800000u || y_bits > 0x7f800000u) { return x + y; }
  let steep = y_bits > x_bits;
  let least = bitcast<f32>(min(x_bits, y_bits));
  let most = bitcast<f32>(max(x_bits, y_bits));
  var ratio = least / most;
  if (x_bits == y_bits) { ratio = select(1.0, 0.0, x_bits == 0u); }
  let inner = rlx_atan_ratio(ratio);
  let right = select(inner, 1.57079633 - inner, steep);
  let r = select(right, 3.14159265 - right, (bitcast<u32>(x) >> 31u) == 1u);
  return select(r, -r, (bitcast<u32>(y) >> 31u) == 1u);
}
fn rlx_asin_near(x : f32) -> f32 {  // |x| <= 1/2
  let z = x * x;
  let p = ((4.2163199048e-2 * z + 2.4181311049e-2) * z + 4.5470025998e-2) * z + 7.4953002686e-2;
  return x + x * z * (p * z + 1.6666752422e-1);
}
fn rlx_outside_one(x : f32) -> f32 { return bitcast<f32>((bitcast<u32>(x) & 0x7fffffffu) | 0x7fc00000u); }
fn rlx_asin(x : f32) -> f32 {
  let a = abs(x);
  if (!(a <= 1.0)) { return rlx_outside_one(x); }
  let r = select(rlx_asin_near(a), 1.57079633 - 2.0 * rlx_asin_near(sqrt(0.5 * (1.0 - a))), a > 0.5);
  return select(r, -r, x < 0.0);
}
fn rlx_acos(x : f32) -> f32 {
  let a = abs(x);
  if (!(a <= 1.0)) { return rlx_outside_one(x); }
  if (a <= 0.5) { return 1.57079633 - rlx_asin_near(x); }
  let r = 2.0 * rlx_asin_near(sqrt(0.5 * (1.0 - a)));
  return select(r, 3.14159265 - r, x < 0.0);
}
)wgsl";

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_TRIGONOMETRY_H_
