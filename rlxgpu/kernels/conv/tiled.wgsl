/*/**/R"wgsl(*/
// The product of the weights (kM, kC * taps) and of what lies under the window at every place (kC * taps, places), of
// which only the block that a workgroup works on is ever laid out, in workgroup memory. As in rlxgpu/kernels/matmul/tiled.wgsl a
// workgroup owns kTileM x kTileN elements, an invocation kRowsEach x kColsEach of them, 16 apart in both directions.
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kGroups = 1u;
const kC = 8u;             // channels of x in a group
const kM = 8u;             // channels of the result in a group
/*)wgsl"
#include "rlxgpu/kernels/conv/window.part.wgsl"
R"wgsl(*/
const kRowsEach = 4u;
const kColsEach = 4u;
const kTileK = 16u;
const kTiles = 4u;
const kGridRow = 4u;       // workgroups in one row of the grid
//#end
const kTaps = kKernel0 * kKernel1 * kKernel2;
const kK = kC * kTaps;
const kN = kOut0 * kOut1 * kOut2;
const kTileM = 16u * kRowsEach;
const kTileN = 16u * kColsEach;
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kTilesN = (kN + kTileN - 1u) / kTileN;
const_assert 256u % kTileN == 0u;  // an invocation stages one column
const_assert kTileK * (kTileM + kTileN) * 4u <= 16384u;  // workgroup memory, default limit
/*)wgsl"
#include "rlxgpu/kernels/conv/operands.part.wgsl"
R"wgsl(*/

var<workgroup> tile_a : array<array<Acc, kTileM>, kTileK>;
var<workgroup> tile_b : array<array<Acc, kTileN>, kTileK>;

// The element under tap k of the window that begins at `origin`, which wraps below zero.
fn under(batch : u32, k : u32, origin : vec3u) -> Acc {
  let i0 = origin.x + ((k / (kKernel1 * kKernel2)) % kKernel0) * kDilation0;
  let i1 = origin.y + ((k / kKernel2) % kKernel1) * kDilation1;
  let i2 = origin.z + (k % kKernel2) * kDilation2;
  if (i0 >= kIn0 || i1 >= kIn1 || i2 >= kIn2) { return Acc(0); }
  return Acc(x_at((((batch * kC + k / kTaps) * kIn0 + i0) * kIn1 + i1) * kIn2 + i2));
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / (kTilesM * kTilesN);  // image and group
  let m0 = ((tile / kTilesN) % kTilesM) * kTileM;
  let n0 = (tile % kTilesN) * kTileN;
  let w0 = (batch % kGroups) * kM;
  let place = n0 + id % kTileN;  // the column that this invocation stages
  let origin = vec3u((place / (kOut1 * kOut2)) * kStride0 - kBefore0, ((place / kOut2) % kOut1) * kStride1 - kBefore1,
                     (place % kOut2) * kStride2 - kBefore2);
  let row = id / 16u;
  let col = id % 16u;
  var sums : array<array<Acc, kColsEach>, kRowsEach>;

  for (var k0 = 0u; k0 < kK; k0 += kTileK) {
    for (var e = id; e < kTileM * kTileK; e += 256u) {
      let m = e / kTileK;
      let k = e % kTileK;
      var v = Acc(0);
      if (m0 + m < kM && k0 + k < kK) { v = Acc(w_at((w0 + m0 + m) * kK + k0 + k)); }
      tile_a[k][m] = v;
    }
    for (var k = id / kTileN; k < kTileK; k += 256u / kTileN) {
      var v = Acc(0);
      if (place < kN && k0 + k < kK) { v = under(batch, k0 + k, origin); }
      tile_b[k][id % kTileN] = v;
    }
/*)wgsl"
#include "rlxgpu/kernels/matmul/multiply_tile.part.wgsl"
R"wgsl(*/
  }
/*)wgsl"
#include "rlxgpu/kernels/matmul/store_tile.part.wgsl"
R"wgsl(*/
}
//)wgsl"
