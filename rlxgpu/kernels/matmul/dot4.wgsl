/*/**/R"wgsl(*/
// Products of bytes, four along k in one instruction. One workgroup owns one kTileM x kTileN block of c and walks along k,
// staging words of four bytes of a and b, both with k innermost in memory (pad.wgsl copies what is not). Each invocation
// computes kRowsEach x kColsEach elements, 16 apart in both directions.
//#params
alias Sum = i32;           // or u32
const kM = 64u;
const kN = 64u;
const kWords = 16u;        // of a row along k
const kARow = 16u;         // words between neighbours along m in a
const kBCol = 16u;         // and along n in b
const kRowsEach = 4u;
const kColsEach = 4u;
const kTileK = 16u;        // words
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
//#place a_begin
fn a_begin(batch : u32) -> u32 { return batch * kM * kWords * 4u; }  // where its matrix begins in a, in bytes
//#end
//#place b_begin
fn b_begin(batch : u32) -> u32 { return batch * kN * kWords * 4u; }
//#end
const kTileM = 16u * kRowsEach;
const kTileN = 16u * kColsEach;
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kTilesN = (kN + kTileN - 1u) / kTileN;
const_assert kTileK * (kTileM + kTileN) * 4u <= 16384u;  // workgroup memory, default limit
//#raw a
@group(0) @binding(0) var<storage, read> a : array<u32>;
//#end
//#raw b
@group(0) @binding(1) var<storage, read> b : array<u32>;
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#if SIGNED
fn dot4(u : u32, v : u32) -> i32 { return dot4I8Packed(u, v); }
//#else
/*
fn dot4(u : u32, v : u32) -> u32 { return dot4U8Packed(u, v); }
*/
//#end

var<workgroup> tile_a : array<array<u32, kTileM>, kTileK>;
var<workgroup> tile_b : array<array<u32, kTileN>, kTileK>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / (kTilesM * kTilesN);
  let m0 = ((tile / kTilesN) % kTilesM) * kTileM;
  let n0 = (tile % kTilesN) * kTileN;
  let a0 = a_begin(batch) / 4u;
  let b0 = b_begin(batch) / 4u;
  let row = id / 16u;
  let col = id % 16u;
  var sums : array<array<Sum, kColsEach>, kRowsEach>;
  for (var k0 = 0u; k0 < kWords; k0 += kTileK) {
    for (var e = id; e < kTileM * kTileK; e += 256u) {
      let m = e / kTileK;
      let k = e % kTileK;
      var v = 0u;
      if (m0 + m < kM && k0 + k < kWords) { v = a[a0 + (m0 + m) * kARow + k0 + k]; }
      tile_a[k][m] = v;
    }
    for (var e = id; e < kTileN * kTileK; e += 256u) {
      let n = e / kTileK;
      let k = e % kTileK;
      var v = 0u;
      if (n0 + n < kN && k0 + k < kWords) { v = b[b0 + (n0 + n) * kBCol + k0 + k]; }
      tile_b[k][n] = v;
    }
    workgroupBarrier();
    for (var k = 0u; k < kTileK; k++) {
      for (var i = 0u; i < kRowsEach; i++) {
        let u = tile_a[k][row + 16u * i];
        for (var j = 0u; j < kColsEach; j++) { sums[i][j] += dot4(u, tile_b[k][col + 16u * j]); }
      }
    }
    workgroupBarrier();  // the next step overwrites both blocks
  }
/*)wgsl"
#include "rlxgpu/kernels/matmul/store_tile.part.wgsl"
R"wgsl(*/
}
//)wgsl"
