
// The kernel of a chain of maps: each invocation computes one 32-bit word of the result, that is one
// element, or all the packed elements that share the word, so that no two invocations write one word.
const kWords = 64u;  // of the result
const kRow = 64u;    // invocations in one row of the grid, which is folded beyond 65535 groups
fn y_value(i : u32) -> f32 {
  let t0 = b0[i];
  let t1 = (t0 * imm.s0);
  return t1;
}
fn y_word(w : u32) {
  b1[w] = y_value(w);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let w = invocation.y * kRow + invocation.x;
  if (w < kWords) { y_word(w); }
}
struct Immediates {
  s0 : f32,
}
var<immediate> imm : Immediates;
@group(0) @binding(0) var<storage, read> b0 : array<f32>;
@group(0) @binding(1) var<storage, read_write> b1 : array<f32>;
