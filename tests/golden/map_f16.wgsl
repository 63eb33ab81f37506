
// The kernel of a chain of maps: each invocation computes one 32-bit word of the result, that is one
// element, or all the packed elements that share the word, so that no two invocations write one word.
const kWords = 12u;  // of the result
const kRow = 64u;    // invocations in one row of the grid, which is folded beyond 65535 groups
fn y_value(i : u32) -> f32 {
  let t0 = load_f16(b0[i >> 1u], i);
  let t1 = load_f16(b1[i >> 1u], i);
  let t2 = (t0 * t1);
  return t2;
}
fn y_word(w : u32) {
  var word = 0u;
  word |= bits_f16(y_value(w * 2u + 0u)) << 0u;
  word |= bits_f16(y_value(w * 2u + 1u)) << 16u;
  b2[w] = word;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let w = invocation.y * kRow + invocation.x;
  if (w < kWords) { y_word(w); }
}
@group(0) @binding(0) var<storage, read> b0 : array<u32>;
@group(0) @binding(1) var<storage, read> b1 : array<u32>;
@group(0) @binding(2) var<storage, read_write> b2 : array<u32>;
fn load_f16(word : u32, i : u32) -> f32 {
  let pair = unpack2x16float(word);
  return select(pair.x, pair.y, (i & 1u) == 1u);
}
fn bits_f16(value : f32) -> u32 {
  let bits = bitcast<u32>(value);
  let sign = (bits >> 16u) & 0x8000u;
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return sign | 0x7e00u; }
  if (magnitude >= 0x477ff000u) { return sign | 0x7c00u; }
  if (magnitude < 0x33000001u) { return sign; }
  let exponent = magnitude >> 23u;
  let normal = exponent >= 113u;
  let mantissa = (magnitude & 0x7fffffu) | select(0x800000u, 0u, normal);
  let shift = select((126u - exponent) & 31u, 13u, normal);
  let base = select(0u, (exponent - 112u) << 10u, normal);
  let rest = mantissa & ((1u << shift) - 1u);
  let half = 1u << (shift - 1u);
  let floor = base + (mantissa >> shift);
  return sign | (floor + select(0u, 1u, rest > half || (rest == half && (floor & 1u) == 1u)));
}
