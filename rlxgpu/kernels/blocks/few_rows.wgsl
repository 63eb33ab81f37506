/*/**/R"wgsl(*/
// A few rows of x times rows of packed blocks. A workgroup owns kEach rows of w and all rows of x; its lanes share each
// row, four neighbours at a time, so that what is unpacked of w serves every row of x, and a load of x kEach rows of w.
//#params
const kM = 1u;
const kN = 64u;
const kK = 256u;
const kEach = 4u;          // rows of w
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
const kLanes = 64u;
const kSums = kM * kEach;
const kRowBytes = kK / kElements * kBytes;
const_assert kSums * kLanes * 4u <= 16384u;  // workgroup memory, default limit

var<workgroup> sums : array<array<f32, kLanes>, kSums>;

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }  // the same for the whole workgroup
  let n0 = number * kEach;
  var own : array<f32, kSums>;
  for (var k = lane * 4u; k < kK; k += kLanes * 4u) {
    let at = k / kElements * kBytes;
    var xs : array<vec4f, kM>;  // all of it is written before it is read
    for (var m = 0u; m < kM; m++) {
      let i = m * kK + k;
      xs[m] = vec4f(x_at(i), x_at(i + 1u), x_at(i + 2u), x_at(i + 3u));
    }
    for (var e = 0u; e < kEach; e++) {
      let four = unpack4(min(n0 + e, kN - 1u) * kRowBytes + at, k % kElements);
      for (var m = 0u; m < kM; m++) { own[e * kM + m] += dot(xs[m], four); }
    }
  }
  for (var s = 0u; s < kSums; s++) { sums[s][lane] = own[s]; }
  workgroupBarrier();
  for (var s = lane; s < kSums; s += kLanes) {
    var sum = 0.0f;
    for (var l = 0u; l < kLanes; l++) { sum += sums[s][l]; }
    let n = n0 + s / kM;
    if (n < kN) { y_put(s % kM * kN + n, sum); }
  }
}
//)wgsl"
