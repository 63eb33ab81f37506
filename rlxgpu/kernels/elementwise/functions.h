// The WGSL functions behind elementwise ops: exponentials, logarithms, erf, powers, NaN-aware choices.
//
//   inline constexpr OpDef kExp = elementwise<Form{.floats = "rlx_exp(@0)"}, reference::exp>("exp", {kExpFunctions});
//
// Drivers' own exp, log, pow, tanh are allowed hundreds of ulps and take some of them, so accuracy is made here: it is
// the same on every adapter whose + - * are IEEE (table.h has the bounds, tests check them). Written so that neither
// contraction to fma nor the usual algebraic rewriting ((1 + x) - 1) of shader compilers can hurt. NaN is tested by
// bits, since compilers fold x != x. Each text is an array of its own: a kernel takes it once, by its address.
#ifndef RLXGPU_KERNELS_ELEMENTWISE_FUNCTIONS_H_
#define RLXGPU_KERNELS_ELEMENTWISE_FUNCTIONS_H_

namespace rlxgpu::core {

// NaN-aware comparisons and choices, exact.
inline constexpr char kNanFunctions[] = R"wgsl(
fn rlx_is_nan(x : f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
fn rlx_is_inf(x : f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) == 0x7f800000u; }
fn rlx_unordered(a : f32, b : f32) -> bool { return rlx_is_nan(a) | rlx_is_nan(b); }
fn rlx_max(a : f32, b : f32) -> f32 { return select(select(b, a, (a > b) | rlx_is_nan(a)), b, rlx_is_nan(b)); }
fn rlx_min(a : f32, b : f32) -> f32 { return select(select(b, a, (a < b) | rlx_is_nan(a)), b, rlx_is_nan(b)); }
fn rlx_sign(x : f32) -> f32 { return select(select(select(0.0, -1.0, x < 0.0), 1.0, x > 0.0), x, rlx_is_nan(x)); }
)wgsl";

// exp and its relatives: exp(x) = 2^n exp(r), |r| <= ln 2 / 2 (Cody and Waite), a polynomial for exp(r) (Cephes).
inline constexpr char kExpFunctions[] = R"wgsl(
fn rlx_exp_tail(r : f32) -> f32 {  // (exp(r) - 1 - r) / r^2
  let p = ((1.9875691500e-4 * r + 1.3981999507e-3) * r + 8.3334519073e-3) * r + 4.1665795894e-2;
  return (p * r + 1.6666665459e-1) * r + 5.0000001201e-1;
}
// A whole number below 2^22 in magnitude. i32(n) saturates, for which lavapipe takes vectors apart, four times as slow.
fn rlx_int(n : f32) -> i32 { return bitcast<i32>(n + 12582912.0) - 0x4b400000; }
fn rlx_scale(x : f32, n : i32) -> f32 {  // x 2^n in two steps, so that only the last one leaves the range
  let half = n >> 1u;
  return x * bitcast<f32>(u32(half + 127) << 23u) * bitcast<f32>(u32(n - half + 127) << 23u);
}
fn rlx_exp_scaled(x : f32, k : i32) -> f32 {  // exp(x) 2^k
  let c = clamp(x, -104.0, 90.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693359375) + n * 2.12194440e-4;
  let e = rlx_scale(1.0 + (r + r * r * rlx_exp_tail(r)), rlx_int(n) + k);
  return select(e, x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
fn rlx_exp(x : f32) -> f32 { return rlx_exp_scaled(x, 0); }
fn rlx_expm1(x : f32) -> f32 {
  if (!(x < 17.5)) { return rlx_exp(x); }
  let c = max(x, -30.0);
  let n = round(c * 1.44269504);
  let r = (c - n * 0.693359375) + n * 2.12194440e-4;
  let e = r + r * r * rlx_exp_tail(r);
  let scale = bitcast<f32>(u32(rlx_int(n) + 127) << 23u);
  return select(scale * e + (scale - 1.0), e, n == 0.0);
}
)wgsl";

// log(x) = e ln 2 + log(m), sqrt(1/2) <= m < sqrt(2), a polynomial for log(1 + f) (Cephes).
inline constexpr char kLogFunctions[] = R"wgsl(
fn rlx_log_near_one(f : f32) -> vec2f {  // log(1 + f) = the sum of both, sqrt(1/2) - 1 <= f < sqrt(2) - 1
  let z = f * f;
  var p = (7.0376836292e-2 * f - 1.1514610310e-1) * f + 1.1676998740e-1;
  p = (p * f - 1.2420140846e-1) * f + 1.4249322787e-1;
  p = (p * f - 1.6668057665e-1) * f + 2.0000714765e-1;
  p = (p * f - 2.4999993993e-1) * f + 3.3333331174e-1;
  return vec2f(f, z * (p * f - 0.5));
}
fn rlx_log(x : f32) -> f32 {
  let bits = bitcast<u32>(x);
  if (bits >= 0x7f800000u || bits == 0u) {  // infinite, NaN, negative, zero
    let magnitude = bits & 0x7fffffffu;
    if (magnitude == 0u) { return bitcast<f32>(bits | 0xff800000u); }
    return bitcast<f32>(select(bits, bits | 0x7fc00000u, bits > 0x7f800000u));
  }
  let shift = select(0u, countLeadingZeros(bits) - 8u, bits < 0x800000u);
  let normal = bits << shift;
  let above = (normal & 0x7fffffu) > 0x3504f3u;  // m > sqrt(2): take half of it
  let m = bitcast<f32>((normal & 0x7fffffu) | select(0x3f800000u, 0x3f000000u, above));
  let e = f32(i32(normal >> 23u) - i32(shift) - select(127, 126, above));
  let log_m = rlx_log_near_one(m - 1.0);
  return (log_m.x + (log_m.y - e * 2.12194440e-4)) + e * 0.693359375;
}
fn rlx_log1p(x : f32) -> f32 {
  if (x > -0.29 && x < 0.41) {
    let near = rlx_log_near_one(x);
    return near.x + near.y;
  }
  return rlx_log(1.0 + x);
}
)wgsl";

// sinh, cosh, tanh; needs kExpFunctions. Polynomials near 0 (Cephes), exponentials elsewhere.
inline constexpr char kHyperbolicFunctions[] = R"wgsl(
fn rlx_sinh(x : f32) -> f32 {
  let z = x * x;
  let near = x + x * z * ((2.03721912945e-4 * z + 8.33028376239e-3) * z + 1.66667160211e-1);
  let h = rlx_exp_scaled(abs(x), -1);
  let far = h - 0.25 / h;
  return select(select(far, -far, x < 0.0), near, abs(x) < 1.0);
}
fn rlx_cosh(x : f32) -> f32 {
  let h = rlx_exp_scaled(abs(x), -1);
  return h + 0.25 / h;
}
fn rlx_tanh(x : f32) -> f32 {
  let z = x * x;
  var p = (-5.70498872745e-3 * z + 2.06390887954e-2) * z - 5.37397155531e-2;
  p = (p * z + 1.33314422036e-1) * z - 3.33332819422e-1;
  let near = x + x * z * p;
  let far = 1.0 - 2.0 / (rlx_exp(2.0 * abs(x)) + 1.0);
  return select(select(far, -far, x < 0.0), near, abs(x) < 0.625);
}
)wgsl";

// The one erf, and the normal distribution behind gelu; needs kExpFunctions. Coefficients: N. Juffa.
inline constexpr char kErfFunctions[] = R"wgsl(
fn rlx_erf_near(x : f32) -> f32 {  // |x| < 0.93
  let s = x * x;
  let p = ((-5.96761703e-4 * s + 4.99119423e-3) * s - 2.67681349e-2) * s + 1.12819925e-1;
  return x + x * ((p * s - 3.76125336e-1) * s + 1.28379166e-1);
}
fn rlx_erfc_far(t : f32) -> f32 {  // 1 - erf(t), t > 0.92
  let s = t * t;
  var p = (-1.72853470e-5 * t + 3.83197126e-4) * s + (-3.88396438e-3 * t + 2.42546219e-2);
  p = ((p * t - 1.06777877e-1) * t - 6.34846687e-1) * t - 1.28717512e-1;
  return rlx_exp(p * t - t);
}
fn rlx_erf(x : f32) -> f32 {
  let t = abs(x);
  if (t < 0.927734375) { return rlx_erf_near(x); }
  let far = 1.0 - rlx_erfc_far(min(t, 10.0));
  return select(select(far, -far, x < 0.0), x, (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u);
}
fn rlx_gelu(x : f32) -> f32 {  // x times the probability that a normal number is below x
  let t = x * 0.70710678;
  if (abs(t) < 0.927734375) { return 0.5 * x * (1.0 + rlx_erf_near(t)); }
  let tail = 0.5 * rlx_erfc_far(min(abs(t), 10.0));
  return x * select(1.0 - tail, tail, x < 0.0);
}
)wgsl";

// Needs kNanFunctions.
inline constexpr char kClampFunctions[] = R"wgsl(
fn rlx_clamp(x : f32, low : f32, high : f32) -> f32 { return rlx_min(rlx_max(x, low), high); }
)wgsl";

// Needs kExpFunctions. tanh(log(1 + e)) = n / (n + 2), n = e (e + 2).
inline constexpr char kMishFunctions[] = R"wgsl(
fn rlx_mish(x : f32) -> f32 {
  let e = rlx_exp(min(x, 20.0));
  let n = e * (e + 2.0);
  return x * (n / (n + 2.0));
}
)wgsl";

// Needs kExpFunctions and kLogFunctions.
inline constexpr char kSoftplusFunctions[] = R"wgsl(
fn rlx_softplus(x : f32) -> f32 { return max(x, 0.0) + rlx_log1p(rlx_exp(-abs(x))); }
)wgsl";

// x^y; needs kExpFunctions. y log2(x) is kept in two floats, products split by masking so that every part is exact.
inline constexpr char kPowFunctions[] = R"wgsl(
fn rlx_high(x : f32) -> f32 { return bitcast<f32>(bitcast<u32>(x) & 0xffffe000u); }  // 11 bits
fn rlx_pow_positive(x : f32, y : f32) -> f32 {  // x finite and above 0
  let bits = bitcast<u32>(x);
  let shift = select(0u, countLeadingZeros(bits) - 8u, bits < 0x800000u);
  let normal = bits << shift;
  let above = (normal & 0x7fffffu) > 0x3504f3u;
  let m = bitcast<f32>((normal & 0x7fffffu) | select(0x3f800000u, 0x3f000000u, above));
  let e = f32(i32(normal >> 23u) - i32(shift) - select(127, 126, above));
  // s = (m - 1) / (m + 1) = s_high + s_low
  let m_high = rlx_high(m);
  let m_low = m - m_high;
  let f = m - 1.0;
  let s_high = rlx_high(f / (m + 1.0));
  let s_low = ((f - s_high * (m_high + 1.0)) - s_high * m_low) / (m + 1.0);
  // log2(m) = 2 / ln 2 (s + s^3/3 + s^5/5 + ...) = l_high + l_low; 2 / ln 2 = 2.884765625 + 6.2445677e-4
  let s = s_high + s_low;
  let z = s * s;
  let series = ((0.26230819 * z + 0.32059890) * z + 0.41219859) * z + 0.57707802;
  let l_high = s_high * 2.884765625;
  let l_low = s_high * 6.2445677793e-4 + (s_low * 2.88539008 + s * z * (series * z + 0.96179669));
  let t_high = rlx_high(e + (l_high + l_low));
  let t_low = ((e - t_high) + l_high) + l_low;
  let y_near = clamp(y, -4294967296.0, 4294967296.0);
  let y_high = rlx_high(y_near);
  let y_low = y_near - y_high;
  let w_high = y_high * t_high;
  let w_low = y_high * t_low + (y_low * t_high + y_low * t_low);
  let w = w_high + w_low;
  if (w > 200.0) { return rlx_scale(1.0, 200); }
  if (w < -200.0) { return 0.0; }
  let n = round(w);
  let r = ((w_high - n) + w_low) * 0.69314718;
  return rlx_scale(1.0 + (r + r * r * rlx_exp_tail(r)), rlx_int(n));
}
fn rlx_pow(x : f32, y : f32) -> f32 {
  if (y == 0.0 || x == 1.0) { return 1.0; }
  let x_bits = bitcast<u32>(x) & 0x7fffffffu;
  let y_bits = bitcast<u32>(y) & 0x7fffffffu;
  if (x_bits > 0x7f800000u || y_bits > 0x7f800000u) { return x + y; }
  let whole = y_bits >= 0x4b800000u || floor(y) == y;  // from 2^24 on every float is whole, and even
  let odd = whole && y_bits < 0x4b800000u && (i32(y) & 1) == 1;
  let negative = (bitcast<u32>(x) >> 31u) == 1u;
  var p : f32;
  if (x_bits == 0u || x_bits == 0x7f800000u) {  // 0 or infinite
    p = bitcast<f32>(select(0u, 0x7f800000u + (x_bits & 0u), (x_bits == 0u) == (y < 0.0)));
  } else {
    p = rlx_pow_positive(abs(x), y);
    if (negative && !whole) { return bitcast<f32>(x_bits | 0x7fc00000u); }
  }
  return select(p, -p, negative && odd);
}
)wgsl";

// The remainder with the sign of b, exact: long division of the mantissas, eight bits at a time.
inline constexpr char kModFunctions[] = R"wgsl(
fn rlx_mod(a : f32, b : f32) -> f32 {
  let a_bits = bitcast<u32>(a) & 0x7fffffffu;
  let b_bits = bitcast<u32>(b) & 0x7fffffffu;
  let sign = bitcast<u32>(a) & 0x80000000u;
  if (a_bits >= 0x7f800000u || b_bits > 0x7f800000u || b_bits == 0u) { return bitcast<f32>(a_bits | 0x7fc00000u); }
  var rest = bitcast<u32>(a);
  if (a_bits >= b_bits) {
    let a_exponent = max(a_bits >> 23u, 1u);
    let b_exponent = max(b_bits >> 23u, 1u);
    let a_mantissa = (a_bits & 0x7fffffu) | select(0u, 0x800000u, a_bits >= 0x800000u);
    let b_mantissa = (b_bits & 0x7fffffu) | select(0u, 0x800000u, b_bits >= 0x800000u);
    var r = a_mantissa % b_mantissa;
    for (var left = a_exponent - b_exponent; left > 0u && r != 0u;) {
      let step = min(left, 8u);
      r = (r << step) % b_mantissa;
      left -= step;
    }
    let up = min(countLeadingZeros(r) - 8u, b_exponent - 1u);
    rest = sign | select(((b_exponent - up - 1u) << 23u) + (r << up), 0u, r == 0u);
  }
  let r = bitcast<f32>(rest);
  return select(r, r + b, (rest & 0x7fffffffu) != 0u && ((rest ^ bitcast<u32>(b)) >> 31u) == 1u);
}
)wgsl";

}  // namespace rlxgpu::core

#endif  // RLXGPU_KERNELS_ELEMENTWISE_FUNCTIONS_H_
