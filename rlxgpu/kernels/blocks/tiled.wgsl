/*/**/R"wgsl(*/
// Many rows of x times rows of packed blocks: one workgroup owns 64 x 64 elements of the result and walks along k,
// staging x, and w unpacked. Each invocation computes 4 x 4 elements, 16 apart in both directions.
//#params
const kM = 64u;
const kN = 64u;
const kK = 256u;
const kElements = 32u;     // of a block
const kBytes = 34u;
const kGroups = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
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
const kTile = 64u;
const kTileK = 16u;
const kTilesN = (kN + kTile - 1u) / kTile;
const kRowBytes = kK / kElements * kBytes;

var<workgroup> tile_x : array<array<f32, kTile>, kTileK>;
var<workgroup> tile_w : array<array<f32, kTile>, kTileK>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }  // the same for the whole workgroup
  let m0 = number / kTilesN * kTile;
  let n0 = number % kTilesN * kTile;
  let row = id / 16u;
  let col = id % 16u;
  var sums : array<array<f32, 4>, 4>;
  for (var k0 = 0u; k0 < kK; k0 += kTileK) {  // a row is whole blocks, and so whole tiles
    let line = id / 4u;
    let k = id % 4u * 4u;
    let four = unpack4(min(n0 + line, kN - 1u) * kRowBytes + (k0 + k) / kElements * kBytes, (k0 + k) % kElements);
    let i = min(m0 + line, kM - 1u) * kK + k0 + k;
    for (var j = 0u; j < 4u; j++) {
      tile_w[k + j][line] = four[j];
      tile_x[k + j][line] = x_at(i + j);
    }
    workgroupBarrier();
    for (var t = 0u; t < kTileK; t++) {
      for (var a = 0u; a < 4u; a++) {
        let u = tile_x[t][row + 16u * a];
        for (var b = 0u; b < 4u; b++) { sums[a][b] += u * tile_w[t][col + 16u * b]; }
      }
    }
    workgroupBarrier();  // the next step overwrites both tiles
  }
  for (var a = 0u; a < 4u; a++) {
    for (var b = 0u; b < 4u; b++) {
      let m = m0 + row + 16u * a;
      let n = n0 + col + 16u * b;
      if (m < kM && n < kN) { y_put(m * kN + n, sums[a][b]); }
    }
  }
}
//)wgsl"
