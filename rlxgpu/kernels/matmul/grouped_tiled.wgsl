/*/**/R"wgsl(*/
// For GPUs: a workgroup owns one tile of rows (grouped_route.wgsl) and kTileN columns, and walks along k, staging blocks
// of x and w. Each invocation computes kRowsEach x 4 elements, 16 apart in both directions.
//#params
const kN = 64u;
const kK = 64u;
const kExperts = 8u;       // rows of a tile of the next one get zeros
const kXRow = 64u;         // between neighbours in x and w
const kXCol = 1u;
const kWExpert = 4096u;
const kWRow = 64u;
const kWCol = 1u;
const kRowsEach = 2u;
const kTiles = 12u;
const kGroups = 12u;
const kGridRow = 12u;      // workgroups in one row of the grid
//#end
const kNone = 0xffffffffu;
const kTile = 16u * kRowsEach;
const kTileN = 64u;
const kTileK = 16u;
const kTilesN = (kN + kTileN - 1u) / kTileN;
/*)wgsl"
#include "rlxgpu/kernels/matmul/grouped.part.wgsl"
R"wgsl(*/

var<workgroup> rows : array<u32, kTile>;
var<workgroup> tile_x : array<array<f32, kTile>, kTileK>;
var<workgroup> tile_w : array<array<f32, kTileN>, kTileK>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }  // the same for the whole workgroup
  let tile = number / kTilesN;
  let n0 = number % kTilesN * kTileN;
  let e = tiles[tile];
  if (e == kNone) { return; }  // likewise
  if (id < kTile) { rows[id] = order[tile * kTile + id]; }
  workgroupBarrier();
  let w0 = w_begin(0u) + e * kWExpert;
  let last = select(0u, kK, e < kExperts);
  let row = id / 16u;
  let col = id % 16u;
  var sums : array<array<f32, 4>, kRowsEach>;
  for (var k0 = 0u; k0 < last; k0 += kTileK) {
    for (var i = id; i < kTile * kTileK; i += 256u) {
      let m = i / kTileK;
      let k = i % kTileK;
      var v = 0.0f;
      if (rows[m] != kNone && k0 + k < kK) { v = x_load(x_begin(0u) + rows[m] * kXRow + (k0 + k) * kXCol); }
      tile_x[k][m] = v;
    }
    for (var i = id; i < kTileN * kTileK; i += 256u) {
      let n = i % kTileN;
      let k = i / kTileN;
      var v = 0.0f;
      if (n0 + n < kN && k0 + k < kK) { v = w_load(w0 + (k0 + k) * kWRow + (n0 + n) * kWCol); }
      tile_w[k][n] = v;
    }
    workgroupBarrier();
    for (var k = 0u; k < kTileK; k++) {
      for (var i = 0u; i < kRowsEach; i++) {
        let a = tile_x[k][row + 16u * i];
        for (var j = 0u; j < 4u; j++) { sums[i][j] += a * tile_w[k][col + 16u * j]; }
      }
    }
    workgroupBarrier();  // the next step overwrites both blocks
  }
  for (var i = 0u; i < kRowsEach; i++) {
    for (var j = 0u; j < 4u; j++) {
      let m = rows[row + 16u * i];
      let n = n0 + col + 16u * j;
      if (m != kNone && n < kN) { y_put(m * kN + n, sums[i][j]); }
    }
  }
}
//)wgsl"
