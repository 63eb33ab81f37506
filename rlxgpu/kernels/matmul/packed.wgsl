/*/**/R"wgsl(*/
// For adapters that run on a CPU: the product of operands in strips (pack.wgsl); b may be where it was, a
// small matrix of whole vectors; then columns beyond an edge are others' (WGSL stays inside the buffer) and
// are not stored. A workgroup is one subgroup without barriers and owns kRows rows and 32
// columns of c, four neighbouring columns for each lane:
//              n ->   0 .. 3 | 4 .. 7 | .. | 28 .. 31
//      lanes             0   |    1   | .. |    7
// Elements of b are vectors, used kRows times from registers. Of four rows of a each lane of a quad loads one, and
// quadBroadcast, a shuffle, hands it to the others. What counts on lavapipe, read off its machine code (GFLOP/s
// at 1024, one process): a load costs the same for one lane as for eight, being checked against the buffer's end (rows
// of a loaded by all lanes alike: 54); every trip of the loop blends each sum with its old value, so trips must be
// fat (four products 57, eight 64), but not fatter than the cache of decoded instructions (32 rows 64, 64 rows 44, 16
// rows 58); arrays of unknown size 55; a loop whose end is computed 10 % less; subgroupBroadcast asks whether the
// lane is there (58). Loops are unrolled because they are as long as the array of the sums. If kGated, a second matrix u is
// multiplied along with b, by half as many rows, so that a trip is as fat; what is stored is made of both sums.
enable subgroups;
//#params
alias Result = f32;       // or the integers of bytes' products, whose sums are exact in f32
const kM = 64u;
const kN = 64u;
const kSteps = 16u;        // of four products
// Vectors of a and b in memory, and between neighbouring matrices; of b also between tiles, steps, and rows of a step.
const kAVectors = 1024u;
const kABatch = 0u;        // 0: one a for all
const kBVectors = 1024u;
const kBBatch = 0u;
const kBTile = 512u;
const kBStep = 32u;
const kBRow = 8u;
const kSplitSteps = 16u;   // of a workgroup; others add the rest
const kBatches = 1u;
const kGated = false;
const kRows = 32u;
const kTiles = 4u;
const kGridRow = 4u;       // workgroups in one row of the grid
//#end
const kTilesM = (kM + kRows - 1u) / kRows;
const kTilesN = (kN + 31u) / 32u;
const_assert kRows % 4u == 0u && kSplitSteps % 2u == 0u && kSteps % kSplitSteps == 0u;
alias Sums = array<mat4x4f, kRows / 4u>;  // four columns of four rows
//#raw a
@group(0) @binding(0) var<storage, read> a : array<vec4f, kAVectors>;
//#end
//#raw b
@group(0) @binding(1) var<storage, read> b : array<vec4f, kBVectors>;
//#end
//#if GATED
//#raw u
@group(0) @binding(3) var<storage, read> u : array<vec4f, kBVectors>;
//#end
//#end
//#slot up
fn up(i : u32) -> vec4f { return u[i]; }
//#end
//#slot gate
fn gate(sum : vec4f, up : vec4f) -> vec4f { return sum * up; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i | 1u] = v.y;
  y[i | 2u] = v.z;
  y[i | 3u] = v.w;
}
//#end

fn row(x : vec4f, v : mat4x4f) -> vec4f { return (x.x * v[0] + x.y * v[1]) + (x.z * v[2] + x.w * v[3]); }

fn add(sums : ptr<function, Sums>, ups : ptr<function, Sums>, at : u32, bt : u32) {
  let v = mat4x4f(b[bt], b[bt + kBRow], b[bt + 2u * kBRow], b[bt + 3u * kBRow]);
  var w : mat4x4f;
  if (kGated) { w = mat4x4f(up(bt), up(bt + kBRow), up(bt + 2u * kBRow), up(bt + 3u * kBRow)); }
  for (var i = 0u; i < kRows / 4u; i++) {
    let four = a[at + 4u * i];
    let x = mat4x4f(quadBroadcast(four, 0u), quadBroadcast(four, 1u), quadBroadcast(four, 2u), quadBroadcast(four, 3u));
    sums[i][0] += row(x[0], v);
    sums[i][1] += row(x[1], v);
    sums[i][2] += row(x[2], v);
    sums[i][3] += row(x[3], v);
    if (kGated) {
      ups[i][0] += row(x[0], w);
      ups[i][1] += row(x[1], w);
      ups[i][2] += row(x[2], w);
      ups[i][3] += row(x[3], w);
    }
  }
}

fn result(products : vec4f, ups : vec4f) -> vec4f {
  if (kGated) { return gate(products, ups); }
  return products;
}

//#if GATED
var<workgroup> kept_ups : array<vec4f, kRows * 8u>;
//#end
//#slot keep_ups
fn keep_ups(i : u32, ups : vec4f) { kept_ups[i] = ups; }
fn kept_up(i : u32) -> vec4f { return kept_ups[i]; }
//#end
//#if KEPT
// Rows are stored by a loop that finds them here; each lane reads what it wrote itself. What follows the product is in the
// text once for each store: unrolled from registers that is half to nine tenths of all instructions, which take long to
// compile, and where rows are no whole vectors needs so many registers at once that LLVM 21 loses one (docs/drivers.md).
var<workgroup> kept : array<vec4f, kRows * 8u>;
fn keep(i : u32, sum : vec4f, ups : vec4f) {
  kept[i] = sum;
  keep_ups(i, ups);
}
//#end
//#if RAGGED
fn put_row(products : vec4f, ups : vec4f, batch : u32, m : u32, n : u32) {
  let sum = result(products, ups);
  let at = (batch * kM + m) * kN + n;
  for (var e = 0u; n < kN && e < min(4u, kN - n); e++) { y_put(at + e, Result(sum[e])); }
}
//#else
fn put(products : vec4f, ups : vec4f, batch : u32, m : u32, n : u32) {
  if (m < kM && n < kN) { y_put4((batch * kM + m) * kN + n, vec4<Result>(result(products, ups))); }
}
//#end

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32,
        @builtin(subgroup_invocation_id) id : u32) {
  let tile = group.y * kGridRow + group.x;
  // One after another along n, or along m if kGated: then two strips of columns stay in the caches.
  let along = select(kTilesN, kTilesM, kGated);
  let tile_n = select(tile % along, (tile / along) % kTilesN, kGated);
  let tile_m = select((tile / along) % kTilesM, tile % along, kGated);
  let batch = tile / (kTilesN * kTilesM);  // of all splits
  let split = batch / kBatches;
  let a0 = batch % kBatches * kABatch + (tile_m * kSteps + split * kSplitSteps) * kRows + id % 4u;
  let b0 = batch % kBatches * kBBatch + tile_n * kBTile + split * kSplitSteps * kBStep + lane;
  var sums : Sums;
  var ups : Sums;
  for (var step = 0u; step < kSplitSteps; step += 2u) {
    add(&sums, &ups, a0 + step * kRows, b0 + step * kBStep);
    add(&sums, &ups, a0 + (step + 1u) * kRows, b0 + (step + 1u) * kBStep);
  }
  let m = tile_m * kRows;
  let n = tile_n * 32u + lane * 4u;
  if (tile >= kTiles) { return; }
//#if KEPT
  for (var i = 0u; i < kRows / 4u; i++) {
    keep(32u * i + lane, sums[i][0], ups[i][0]);
    keep(32u * i + 8u + lane, sums[i][1], ups[i][1]);
    keep(32u * i + 16u + lane, sums[i][2], ups[i][2]);
    keep(32u * i + 24u + lane, sums[i][3], ups[i][3]);
  }
  for (var row = 0u; row < min(kRows, kM - m); row++) {
    let at = row * 8u + lane;
//#if RAGGED
    put_row(kept[at], kept_up(at), batch, m + row, n);
//#else
    put(kept[at], kept_up(at), batch, m + row, n);
//#end
  }
//#else
  for (var i = 0u; i < kRows / 4u; i++) {
    put(sums[i][0], ups[i][0], batch, m + 4u * i, n);
    put(sums[i][1], ups[i][1], batch, m + 4u * i + 1u, n);
    put(sums[i][2], ups[i][2], batch, m + 4u * i + 2u, n);
    put(sums[i][3], ups[i][3], batch, m + 4u * i + 3u, n);
  }
//#end
}
//)wgsl"
