/*/**/R"wgsl(*/
// Products without workgroup memory: a subgroup owns 8 rows and 4 columns an invocation. What it reads of a is the same
// for all its invocations, at addresses that the compiler can see to be uniform, so that a GPU with a path for that
// (Intel's block loads) takes 16 elements in one instruction, and its multiply-adds read them as scalars.
//
//             n ->  4 columns x kSubgroup         The kStack subgroups of a workgroup lie one below the other: they read the
//        +-----------------------------+          same rows of b at the same time. 8 x 4 sums an invocation are half of what
//      m |  subgroup 0: 8 rows         |          Intel's registers hold, at the smallest subgroups, which are asked for; with
//      | |  subgroup 1                 |          others, or with 8 x 8, they spill (bmg, 1024^3: 2921 registers).
//      v |  ...                        |
//        +-----------------------------+          A run of 16 elements of a begins at a multiple of 16: else the loads stay apart.
enable subgroups;
enable subgroup_size_control;
//#params
/*)wgsl"
#include "rlxgpu/kernels/matmul/sizes.part.wgsl"
R"wgsl(*/
const kSubgroup = 16u;
const kStack = 8u;
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
/*)wgsl"
#include "rlxgpu/kernels/matmul/batch.part.wgsl"
R"wgsl(*/
//#buffer a
@group(0) @binding(0) var<storage, read> a : array<vec4f>;
fn a_vector4(i : u32) -> vec4f { return a[i]; }
//#end
//#buffer b
@group(0) @binding(1) var<storage, read> b : array<vec4f>;
fn b_vector4(i : u32) -> vec4f { return b[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) { for (var c = 0u; c < 4u; c++) { y_put(i + c, v[c]); } }
//#end
const kRows = 8u;
const kBlock = 16u;  // of k
const kTileM = kRows * kStack;
const kTileN = 4u * kSubgroup;
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kTilesN = (kN + kTileN - 1u) / kTileN;

@compute @workgroup_size(kSubgroup * kStack) @subgroup_size(kSubgroup)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(subgroup_id) id : u32,
        @builtin(subgroup_invocation_id) lane : u32) {
  let sub = subgroupBroadcastFirst(id);  // so that the compiler sees it
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let batch = tile / (kTilesM * kTilesN);
  let row = ((tile / kTilesN) % kTilesM) * kTileM + sub * kRows;
  let column = (tile % kTilesN) * kTileN + lane * 4u;
  var sums : array<vec4f, kRows>;
  var from_a : array<u32, kRows>;  // in runs of 16 elements
  for (var m = 0u; m < kRows; m++) { from_a[m] = (a_begin(batch) + min(row + m, kM - 1u) * kARow) / kBlock; }
  var from_b = (b_begin(batch) + min(column, kN - 4u)) / 4u;
  for (var run = 0u; run < products() / kBlock; run++) {
    var left = array<array<vec4f, 4>, kRows>();
    for (var m = 0u; m < kRows; m++) {
      for (var q = 0u; q < 4u; q++) { left[m][q] = a_vector4((from_a[m] + run) * 4u + q); }
    }
    for (var q = 0u; q < 4u; q++) {
      for (var c = 0u; c < 4u; c++) {
        let right = b_vector4(from_b + (q * 4u + c) * (kBRow / 4u));
        for (var m = 0u; m < kRows; m++) { sums[m] = fma(vec4f(left[m][q][c]), right, sums[m]); }
      }
    }
    from_b += kBlock * (kBRow / 4u);
  }
  for (var m = 0u; m < kRows; m++) {
    if (row + m < kM && column < kN) { y_put4((batch * kM + row + m) * kN + column, sums[m]); }
  }
}
//)wgsl"
