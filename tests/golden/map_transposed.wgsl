
// The kernel of a chain of maps: each invocation computes one 32-bit word of the result, that is one
// element, or all the packed elements that share the word, so that no two invocations write one word.
const kWords = 24u;  // of the result
const kRow = 64u;    // invocations in one row of the grid, which is folded beyond 65535 groups
fn y_value(i : u32) -> f32 {
  let c0 = i / 4u;
  let c1 = i % 4u;
  let c2 = c0 + c1 * 6u;
  let t3 = b0[c2];
  let t4 = rlx_exp(t3);
  return t4;
}
fn y_word(w : u32) {
  b1[w] = y_value(w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let w = invocation.y * kRow + invocation.x;
  if (w < kWords) { y_word(w); }
}
@group(0) @binding(0) var<storage, read> b0 : array<f32>;
@group(0) @binding(1) var<storage, read_write> b1 : array<f32>;

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
