
// The kernel of a chain of maps: each invocation computes one 32-bit word of the result, that is one
// element, or all the packed elements that share the word, so that no two invocations write one word.
const kWords = 24u;  // of the result
const kRow = 64u;    // invocations in one row of the grid, which is folded beyond 65535 groups
fn y_value(i : u32) -> f32 {
  let t0 = b0[i];
  let c1 = i % 6u;
  let t2 = b1[c1];
  let t3 = (t0 + t2);
  let t4 = select(t3, 0.0, t3 < 0.0);
  let t5 = bitcast<f32>(0x3f000000u);
  let t6 = (t4 * t5);
  return t6;
}
fn y_word(w : u32) {
  b2[w] = y_value(w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let w = invocation.y * kRow + invocation.x;
  if (w < kWords) { y_word(w); }
}
@group(0) @binding(0) var<storage, read> b0 : array<f32>;
@group(0) @binding(1) var<storage, read> b1 : array<f32>;
@group(0) @binding(2) var<storage, read_write> b2 : array<f32>;
fn float_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }
