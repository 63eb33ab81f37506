/*/**/R"wgsl(*/
// For adapters that run on a CPU: the product of operands in strips (pack.wgsl), or where they are, if those are
// small matrices of whole vectors; then rows and columns beyond an edge are others' (WGSL stays inside the
// buffer) and are not stored. A workgroup is one subgroup without barriers and owns 4 * kRows rows and 32
// columns of c, four neighbouring columns for each lane:
//              n ->   0 .. 3 | 4 .. 7 | .. | 28 .. 31
//      lanes             0   |    1   | .. |    7
// Elements of a are the same for the whole workgroup, hence scalar loads, each used four times; those of b
// are vectors, used 4 * kRows times from registers. What counts on lavapipe (GFLOP/s at 512 and 1024, one
// process): arrays of known size 43, unknown 36; operands where they are 43 and 34, in strips 42 and 42;
// 32 rows 38; 128 rows 4 % more than 64, but on another CPU 0.6 to 0.8 of it, and three times as long to compile; sums
// of four products by nested fma() 4 % less than so; two steps in one trip of the loop 8 % less; 8 columns a lane, steps
// of 8 products 25; one array of 64 sums, which the driver does not unroll, 10.
//#params
alias Result = f32;       // or the integers of bytes' products, whose sums are exact in f32
const kM = 64u;
const kN = 64u;
const kSteps = 16u;        // of four products
// Vectors of a and b in memory, and between neighbouring matrices, tiles, steps, and rows of a step.
const kAVectors = 1024u;
const kABatch = 0u;        // 0: one a for all
const kATile = 1024u;
const kAStep = 64u;
const kARow = 1u;
const kBVectors = 1024u;
const kBBatch = 0u;
const kBTile = 512u;
const kBStep = 32u;
const kBRow = 8u;
const kSplitSteps = 16u;   // of a workgroup; others add the rest
const kBatches = 1u;
const kRows = 16u;
const kTiles = 4u;
const kGridRow = 4u;       // workgroups in one row of the grid
//#end
const kTilesM = (kM + 4u * kRows - 1u) / (4u * kRows);
const kTilesN = (kN + 31u) / 32u;
const_assert kRows <= 32u;  // more are not unrolled by Mesa
alias Sums = array<vec4f, kRows>;
//#raw a
@group(0) @binding(0) var<storage, read> a : array<vec4f, kAVectors>;
//#end
//#raw b
@group(0) @binding(1) var<storage, read> b : array<vec4f, kBVectors>;
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i + 1u] = v.y;
  y[i + 2u] = v.z;
  y[i + 3u] = v.w;
}
//#end

fn add(sums : ptr<function, Sums>, at : u32, b0 : vec4f, b1 : vec4f, b2 : vec4f, b3 : vec4f) {
  for (var i = 0u; i < kRows; i++) {
    let u = a[at + i * kARow];
    sums[i] += (u.x * b0 + u.y * b1) + (u.z * b2 + u.w * b3);
  }
}

fn put(sums : ptr<function, Sums>, batch : u32, m0 : u32, n : u32) {
  for (var i = 0u; i < kRows; i++) {
    let at = (batch * kM + m0 + i) * kN + n;
    if (m0 + i < kM && n < kN) {
      if (kN % 4u == 0u) {
        y_put4(at, vec4<Result>(sums[i]));
      } else {
        y_put(at, Result(sums[i].x));
        if (n + 1u < kN) { y_put(at + 1u, Result(sums[i].y)); }
        if (n + 2u < kN) { y_put(at + 2u, Result(sums[i].z)); }
        if (n + 3u < kN) { y_put(at + 3u, Result(sums[i].w)); }
      }
    }
  }
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let tile_n = tile % kTilesN;
  let tile_m = (tile / kTilesN) % kTilesM;
  let batch = tile / (kTilesN * kTilesM);  // of all splits
  let split = batch / kBatches;
  let a0 = batch % kBatches * kABatch + tile_m * kATile;
  let b0 = batch % kBatches * kBBatch + tile_n * kBTile + lane;
  var s0 : Sums;
  var s1 : Sums;
  var s2 : Sums;
  var s3 : Sums;
  let last = min((split + 1u) * kSplitSteps, kSteps);
  for (var step = split * kSplitSteps; step < last; step++) {
    let at = a0 + step * kAStep;
    let bt = b0 + step * kBStep;
    let v0 = b[bt];
    let v1 = b[bt + kBRow];
    let v2 = b[bt + 2u * kBRow];
    let v3 = b[bt + 3u * kBRow];
    add(&s0, at, v0, v1, v2, v3);
    add(&s1, at + kRows * kARow, v0, v1, v2, v3);
    add(&s2, at + 2u * kRows * kARow, v0, v1, v2, v3);
    add(&s3, at + 3u * kRows * kARow, v0, v1, v2, v3);
  }
  let m0 = tile_m * 4u * kRows;
  let n = tile_n * 32u + lane * 4u;
  put(&s0, batch, m0, n);
  put(&s1, batch, m0 + kRows, n);
  put(&s2, batch, m0 + 2u * kRows, n);
  put(&s3, batch, m0 + 3u * kRows, n);
}
//)wgsl"
