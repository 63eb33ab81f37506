/*/**/R"wgsl(*/
// For adapters that run on a CPU: a workgroup of one subgroup without barriers owns one tile of rows (grouped_route.wgsl)
// and 16 columns, two for each lane, 8 apart. Elements of x are the same for the whole workgroup, hence scalar loads;
// those of w are used kTile times from registers.
//#params
const kN = 64u;
const kK = 64u;
const kExperts = 8u;       // rows of a tile of the next one get zeros
const kXRow = 64u;         // between neighbours in x and w
const kXCol = 1u;
const kWExpert = 4096u;
const kWRow = 64u;
const kWCol = 1u;
const kTile = 16u;
const kTiles = 12u;
const kGroups = 48u;
const kGridRow = 48u;      // workgroups in one row of the grid
//#end
const kNone = 0xffffffffu;
const kTilesN = (kN + 15u) / 16u;
/*)wgsl"
#include "rlxgpu/kernels/matmul/grouped.part.wgsl"
R"wgsl(*/

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }
  let tile = number / kTilesN;
  let e = tiles[tile];
  if (e == kNone) { return; }
  let last = select(0u, kK, e < kExperts);
  let n = number % kTilesN * 16u + lane;
  let w0 = w_begin(0u) + e * kWExpert + min(n, kN - 1u) * kWCol;
  let w1 = w_begin(0u) + e * kWExpert + min(n + 8u, kN - 1u) * kWCol;
  var from_x : array<u32, kTile>;
  for (var i = 0u; i < kTile; i++) {
    let row = order[tile * kTile + i];
    from_x[i] = x_begin(0u) + select(row, order[tile * kTile], row == kNone) * kXRow;
  }
  var left : array<f32, kTile>;
  var right : array<f32, kTile>;
  for (var k = 0u; k < last; k++) {
    let u = w_load(w0 + k * kWRow);
    let v = w_load(w1 + k * kWRow);
    for (var i = 0u; i < kTile; i++) {
      let s = x_load(from_x[i] + k * kXCol);
      left[i] = fma(s, u, left[i]);
      right[i] = fma(s, v, right[i]);
    }
  }
  for (var i = 0u; i < kTile; i++) {
    let row = order[tile * kTile + i];
    if (row != kNone && n < kN) { y_put(row * kN + n, left[i]); }
    if (row != kNone && n + 8u < kN) { y_put(row * kN + n + 8u, right[i]); }
  }
}
//)wgsl"
