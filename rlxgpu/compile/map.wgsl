/*/**/R"wgsl(*/
// The kernel of a chain of maps: each invocation computes one 32-bit word of the result, that is one
// element, or all the packed elements that share the word, so that no two invocations write one word.
//#params
const kWords = 64u;  // of the result
const kRow = 64u;    // invocations in one row of the grid, which is folded beyond 65535 groups
//#end
//#output y
@group(0) @binding(0) var<storage, read_write> y : array<f32>;
fn y_word(w : u32) { y[w] = f32(w); }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let w = invocation.y * kRow + invocation.x;
  if (w < kWords) { y_word(w); }
}
//)wgsl"
