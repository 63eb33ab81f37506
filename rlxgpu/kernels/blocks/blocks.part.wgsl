/*/**/R"wgsl(*/
fn byte_at(at : u32) -> u32 { return (w[at / 4u] >> (at % 4u * 8u)) & 0xffu; }
// Four bytes from any place on; the word behind them is read only if one of them is in it.
fn word_at(at : u32) -> u32 {
  let shift = at % 4u * 8u;
  let low = w[at / 4u] >> shift;
  return low | select(0u, w[at / 4u + select(0u, 1u, shift != 0u)] << ((32u - shift) & 31u), shift != 0u);
}
// By integers, for small numbers are flushed by some adapters' conversions. `at` is even.
fn half_at(at : u32) -> f32 {
  let bits = (w[at / 4u] >> (at % 4u * 8u)) & 0xffffu;
  let exponent = (bits >> 10u) & 31u;
  let mantissa = bits & 0x3ffu;
  let sign = (bits & 0x8000u) << 16u;
  let large = select(exponent + 112u, 255u, exponent == 31u);
  let normal = bitcast<f32>(sign | (large << 23u) | (mantissa << 13u));
  return select(normal, select(f32(mantissa), -f32(mantissa), sign != 0u) * 0x1p-24f, exponent == 0u);
}
//)wgsl"
