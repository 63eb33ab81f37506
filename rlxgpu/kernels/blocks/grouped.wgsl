/*/**/R"wgsl(*/
// Each row of x by itself, times the packed matrix of its expert. A workgroup owns kEach rows of that matrix; its lanes
// share each of them, four neighbours at a time.
//#params
const kN = 64u;
const kK = 256u;
const kExperts = 8u;
const kEach = 4u;          // rows of a matrix
const kElements = 32u;     // of a block
const kBytes = 34u;
const kGroups = 16u;
const kGridRow = 16u;      // workgroups in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#raw w
@group(0) @binding(1) var<storage, read> w : array<u32>;
//#end
//#input expert
@group(0) @binding(2) var<storage, read> expert : array<u32>;
fn expert_at(i : u32) -> u32 { return expert[i]; }
//#end
/*)wgsl"
#include "rlxgpu/kernels/blocks/blocks.part.wgsl"
R"wgsl(*/
//#slot unpack
fn unpack4(b : u32, j : u32) -> vec4f { return vec4f(unpack4xI8(word_at(b + 2u + j))) * half_at(b); }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
const kLanes = 64u;
const kRowBytes = kK / kElements * kBytes;
const kGroupsOfRow = (kN + kEach - 1u) / kEach;

var<workgroup> sums : array<array<f32, kLanes>, kEach>;

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }  // the same for the whole workgroup
  let row = number / kGroupsOfRow;
  let n0 = number % kGroupsOfRow * kEach;
  let which = u32(expert_at(row));
  let matrix = min(which, kExperts - 1u) * kN;
  var own : array<f32, kEach>;
  for (var k = lane * 4u; k < kK; k += kLanes * 4u) {
    let at = k / kElements * kBytes;
    let i = row * kK + k;
    let four = vec4f(x_at(i), x_at(i + 1u), x_at(i + 2u), x_at(i + 3u));
    for (var e = 0u; e < kEach; e++) {
      own[e] += dot(four, unpack4((matrix + min(n0 + e, kN - 1u)) * kRowBytes + at, k % kElements));
    }
  }
  for (var e = 0u; e < kEach; e++) { sums[e][lane] = own[e]; }
  workgroupBarrier();
  if (lane < kEach && n0 + lane < kN) {
    var sum = 0.0f;
    for (var l = 0u; l < kLanes; l++) { sum += sums[lane][l]; }
    y_put(row * kN + n0 + lane, select(0.0f, sum, which < kExperts));
  }
}
//)wgsl"
