/*/**/R"wgsl(*/
// For adapters that run on a CPU: no barrier, no workgroup memory, a workgroup of one subgroup. It owns
// kRowsEach rows and 16 columns of c; each lane has two columns, 8 apart. Elements of a are the same for
// the whole workgroup, hence scalar loads; those of b are used kRowsEach times from registers.
//              n ->  0 1 .. 7 | 8 9 .. 15
//      lanes         0 1 .. 7 | 0 1 .. 7       sums: kRowsEach x 2 for each lane
// Rows and columns beyond the edges repeat the last one and are not stored.
//#params
/*)wgsl"
#include "rlxgpu/kernels/matmul/sizes.part.wgsl"
R"wgsl(*/
const kRowsEach = 16u;
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
alias Acc = f32;
/*)wgsl"
#include "rlxgpu/kernels/matmul/batch.part.wgsl"
R"wgsl(*/
const kTilesM = (kM + kRowsEach - 1u) / kRowsEach;
const kTilesN = (kN + 15u) / 16u;
//#buffer a
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_load(i : u32) -> f32 { return a[i]; }
//#end
//#buffer b
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_load(i : u32) -> f32 { return b[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let batch = tile / (kTilesM * kTilesN);
  let m0 = (tile % kTilesM) * kRowsEach;
  let n = ((tile / kTilesM) % kTilesN) * 16u + lane;
  let at = vec2u(a_begin(batch), b_begin(batch));
  let b0 = at.y + min(n, kN - 1u) * kBCol;
  let b1 = at.y + min(n + 8u, kN - 1u) * kBCol;
  var left : array<f32, kRowsEach>;
  var right : array<f32, kRowsEach>;

  var k = 0u;
  for (; k + 4u <= products(); k += 4u) {
    let u0 = b_load(b0 + k * kBRow);
    let u1 = b_load(b0 + (k + 1u) * kBRow);
    let u2 = b_load(b0 + (k + 2u) * kBRow);
    let u3 = b_load(b0 + (k + 3u) * kBRow);
    let v0 = b_load(b1 + k * kBRow);
    let v1 = b_load(b1 + (k + 1u) * kBRow);
    let v2 = b_load(b1 + (k + 2u) * kBRow);
    let v3 = b_load(b1 + (k + 3u) * kBRow);
    for (var i = 0u; i < kRowsEach; i++) {
      let a0 = at.x + min(m0 + i, kM - 1u) * kARow;
      let s0 = a_load(a0 + k * kACol);
      let s1 = a_load(a0 + (k + 1u) * kACol);
      let s2 = a_load(a0 + (k + 2u) * kACol);
      let s3 = a_load(a0 + (k + 3u) * kACol);
      left[i] = fma(s3, u3, fma(s2, u2, fma(s1, u1, fma(s0, u0, left[i]))));
      right[i] = fma(s3, v3, fma(s2, v2, fma(s1, v1, fma(s0, v0, right[i]))));
    }
  }
  for (; k < products(); k++) {
    let u = b_load(b0 + k * kBRow);
    let v = b_load(b1 + k * kBRow);
    for (var i = 0u; i < kRowsEach; i++) {
      let s = a_load(at.x + min(m0 + i, kM - 1u) * kARow + k * kACol);
      left[i] = fma(s, u, left[i]);
      right[i] = fma(s, v, right[i]);
    }
  }
  for (var i = 0u; i < kRowsEach; i++) {
    let m = m0 + i;
    if (m < kM && n < kN) { y_put((batch * kM + m) * kN + n, left[i]); }
    if (m < kM && n + 8u < kN) { y_put((batch * kM + m) * kN + n + 8u, right[i]); }
  }
}
//)wgsl"
