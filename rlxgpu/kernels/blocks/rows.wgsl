/*/**/R"wgsl(*/
// Rows of packed blocks, unpacked: four neighbours an invocation.
//#params
const kRows = 64u;         // of w
const kK = 256u;
const kElements = 32u;     // of a block
const kBytes = 34u;
const kCount = 4096u;      // fours of the result
const kRow = 4096u;        // invocations in one row of the grid
//#end
//#input which
@group(0) @binding(0) var<storage, read> which : array<u32>;
fn which_at(i : u32) -> u32 { return which[i]; }
//#end
//#raw w
@group(0) @binding(1) var<storage, read> w : array<u32>;
//#end
fn word(i : u32) -> u32 { return w[i]; }
/*)wgsl"
#include "rlxgpu/kernels/blocks/blocks.part.wgsl"
R"wgsl(*/
//#slot unpack
fn unpack4(b : u32, j : u32) -> vec4f { return vec4f(unpack4xI8(word_at(b + 2u + j))) * half_at(b); }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let k = i % (kK / 4u) * 4u;
  let row = u32(clamp(i32(which_at(i / (kK / 4u))), 0i, i32(kRows) - 1i));
  let four = unpack4((row * (kK / kElements) + k / kElements) * kBytes, k % kElements);
  for (var j = 0u; j < 4u; j++) { y_put(i * 4u + j, four[j]); }
}
//)wgsl"
