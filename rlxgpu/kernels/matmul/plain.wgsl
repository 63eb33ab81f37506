/*/**/R"wgsl(*/
// Each invocation computes one element of the product. No layout, type or shape is beyond it.
//#params
alias Acc = f32;
/*)wgsl"
#include "rlxgpu/kernels/matmul/sizes.part.wgsl"
R"wgsl(*/
const kCount = 4096u;      // elements of the result
const kRow = 4096u;        // invocations in one row of the grid
//#end
/*)wgsl"
#include "rlxgpu/kernels/matmul/batch.part.wgsl"
R"wgsl(*/
//#input a
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_at(i : u32) -> f32 { return a[i]; }
//#end
//#input b
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_at(i : u32) -> f32 { return b[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let batch = i / (kM * kN);
  let a0 = a_begin(batch) + ((i / kN) % kM) * kARow;
  let b0 = b_begin(batch) + (i % kN) * kBCol;
  var sum = Acc(0);
  for (var k = 0u; k < products(); k++) { sum += Acc(a_at(a0 + k * kACol)) * Acc(b_at(b0 + k * kBRow)); }
  y_put(i, sum);
}
//)wgsl"
