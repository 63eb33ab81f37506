/*/**/R"wgsl(*/
//#if GRID
//#raw grid
@group(0) @binding(5) var<storage, read> grid : array<u32>;
//#end
//#end
//#slot grid_word
fn grid_word(i : u32) -> u32 { return grid[i]; }
//#end
fn byte_at(at : u32) -> u32 { return (word(at / 4u) >> (at % 4u * 8u)) & 0xffu; }
// Four bytes from any place on; the word behind them is read only if one of them is in it.
fn word_at(at : u32) -> u32 {
  let shift = at % 4u * 8u;
  let low = word(at / 4u) >> shift;
  return low | select(0u, word(at / 4u + select(0u, 1u, shift != 0u)) << ((32u - shift) & 31u), shift != 0u);
}
// By integers, for small numbers are flushed by some adapters' conversions.
fn half_of(bits : u32) -> f32 {
  let exponent = (bits >> 10u) & 31u;
  let mantissa = bits & 0x3ffu;
  let sign = (bits & 0x8000u) << 16u;
  let large = select(exponent + 112u, 255u, exponent == 31u);
  let normal = bitcast<f32>(sign | (large << 23u) | (mantissa << 13u));
  return select(normal, select(f32(mantissa), -f32(mantissa), sign != 0u) * 0x1p-24f, exponent == 0u);
}
// `at` is even.
fn half_at(at : u32) -> f32 { return half_of((word(at / 4u) >> (at % 4u * 8u)) & 0xffffu); }
//)wgsl"
