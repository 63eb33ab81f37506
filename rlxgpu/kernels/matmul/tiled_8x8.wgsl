/*/**/R"wgsl(*/
// One workgroup owns one kTileM x kTileN block of c; each invocation 8 x 8 elements of it, as 4 x 4 corners:
//          n ->      | kTileN / 2 |
//        +-----------+------------+       Neighbours along n hold neighbouring vectors of four, so what a
//      m |  ####     |  ####      |       subgroup reads of tile_b is one run of memory, and what it reads
//      | |  ####     |  ####      |       of tile_a is few addresses. For each k: four vectors read from
//      v +-----------+------------+       workgroup memory, 64 products.
//        |  ####     |  ####      |
//        |  ####     |  ####      |       Two buffers: while one is multiplied, the next k are on their
//        +-----------+------------+       way from storage to registers and then to the other.
// Along k the first step takes what is left over, so that all others are whole; rows and columns beyond
// the edges repeat the last one and are not stored. So nothing is compared in the loop. Of two matrices (kMatrices) the
// left half of a block of b is of one, the right half the same columns of the other.
//#params
/*)wgsl"
#include "rlxgpu/kernels/matmul/sizes.part.wgsl"
R"wgsl(*/
// How elements come from storage, four at a time: 0: four along m (or n), in one vector; 1: four along k;
// 2: four along k, neighbouring invocations at neighbours along m (or n).
const kAMode = 1u;
const kBMode = 0u;
const kAWhole = 1u;        // 0: the last vector of a row may reach beyond its end
const kBWhole = 1u;
const kTileK = 8u;         // 4, 8 or 16
const kMatrices = 1u;      // 2: y is made of the sums of b and of u, which is laid out as b is
const kLanesM = 16u;       // invocations along m and n
const kLanesN = 16u;
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
/*)wgsl"
#include "rlxgpu/kernels/matmul/batch.part.wgsl"
R"wgsl(*/
const kLanes = kLanesM * kLanesN;
const kTileM = 8u * kLanesM;
const kTileN = 8u * kLanesN;
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kOwnN = kTileN / kMatrices;  // columns of c
const kTilesN = (kN + kOwnN - 1u) / kOwnN;
const kRowA = kTileM / 4u;         // vectors for one k
const kRowB = kTileN / 4u;
const kEachA = kTileK * kRowA / kLanes;  // vectors that one invocation stages
const kEachB = kTileK * kRowB / kLanes;
const kLastA = select(1u, 4u, kAMode == 0u && kAWhole == 1u);  // from the last vector of a column of a to its end
const kLastB = select(1u, 4u, kBMode == 0u && kBWhole == 1u);
const_assert kEachA * kLanes == kTileK * kRowA && kEachB * kLanes == kTileK * kRowB;
const_assert kLanesM >= 8u && kLanesN >= 8u;                       // for the exchange of columns: see column()
const_assert 2u * kTileK * (kTileM + kTileN) * 4u <= 16384u;       // workgroup memory, default limit
//#if A_WIDE
//#buffer a
@group(0) @binding(0) var<storage, read> a : array<vec4f>;
fn a_load4(i : u32) -> vec4f { return a[i / 4u]; }
//#end
// Four elements from element i on, along the axis that kAMode says; those for the first `count` of k, others zero.
fn a_four(i : u32) -> vec4f { return a_load4(i); }
fn a_some(i : u32, count : u32) -> vec4f {
  if (count == 0u) { return vec4f(); }
  if (kAMode == 0u || kAWhole == 1u) { return a_four(i); }
  return select(vec4f(), a_four(i), vec4u(0u, 1u, 2u, 3u) < vec4u(count));
}
//#else
/*
//#buffer a
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_load(i : u32) -> f32 { return a[i]; }
//#end
fn a_four(i : u32) -> vec4f {
  return vec4f(a_load(i), a_load(i + kACol), a_load(i + 2u * kACol), a_load(i + 3u * kACol));
}
fn a_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  if (count > 0u) { v.x = a_load(i); }
  if (count > 1u) { v.y = a_load(i + kACol); }
  if (count > 2u) { v.z = a_load(i + 2u * kACol); }
  if (count > 3u) { v.w = a_load(i + 3u * kACol); }
  return v;
}
*/
//#end
//#if B_WIDE
//#buffer b
@group(0) @binding(1) var<storage, read> b : array<vec4f>;
fn b_load4(i : u32) -> vec4f { return b[i / 4u]; }
//#end
fn b_four(i : u32) -> vec4f { return b_load4(i); }
fn b_some(i : u32, count : u32) -> vec4f {
  if (count == 0u) { return vec4f(); }
  if (kBMode == 0u || kBWhole == 1u) { return b_four(i); }
  return select(vec4f(), b_four(i), vec4u(0u, 1u, 2u, 3u) < vec4u(count));
}
//#else
/*
//#buffer b
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_load(i : u32) -> f32 { return b[i]; }
//#end
fn b_four(i : u32) -> vec4f {
  return vec4f(b_load(i), b_load(i + kBRow), b_load(i + 2u * kBRow), b_load(i + 3u * kBRow));
}
fn b_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  if (count > 0u) { v.x = b_load(i); }
  if (count > 1u) { v.y = b_load(i + kBRow); }
  if (count > 2u) { v.z = b_load(i + 2u * kBRow); }
  if (count > 3u) { v.w = b_load(i + 3u * kBRow); }
  return v;
}
*/
//#end
//#if GATED
/*
//#place u_begin
fn u_begin(batch : u32) -> u32 { return 0u; }
//#end
//#if B_WIDE
//#buffer u
@group(0) @binding(3) var<storage, read> u : array<vec4f>;
fn u_load4(i : u32) -> vec4f { return u[i / 4u]; }
//#end
fn u_four(i : u32) -> vec4f { return u_load4(i); }
//#else
//#buffer u
@group(0) @binding(3) var<storage, read> u : array<f32>;
fn u_load(i : u32) -> f32 { return u[i]; }
//#end
fn u_four(i : u32) -> vec4f {
  return vec4f(u_load(i), u_load(i + kBRow), u_load(i + 2u * kBRow), u_load(i + 3u * kBRow));
}
//#end
fn u_some(i : u32, count : u32) -> vec4f {
  if (count == 0u) { return vec4f(); }
  if (kBMode == 0u) { return u_four(i); }
  return select(vec4f(), u_four(i), vec4u(0u, 1u, 2u, 3u) < vec4u(count));
}
*/
//#end
// From the matrix that column `n` of a block is of.
//#slot fetch
fn fetch_begin(n : u32, begin : u32) -> u32 { return begin; }
fn fetch_four(n : u32, i : u32) -> vec4f { return b_four(i); }
fn fetch_some(n : u32, i : u32, count : u32) -> vec4f { return b_some(i, count); }
//#end
//#slot gate
fn gate(sum : f32, up : f32) -> f32 { return sum; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// By four k, then k, then vectors of four along m or n. Vectors of the second four k trade places with those 16
// elements away, so that invocations that store both fours of one row, and 16 rows, hit 32 banks. Axes of their own for
// the fours of k let drivers see that neighbouring k are a known distance apart, and store two at a time.
const kFours = kTileK / 4u;
var<workgroup> tile_a : array<array<array<array<array<vec4f, kLanesM>, 2>, 4>, kFours>, 2>;  // buffer, four, k, half, vector
var<workgroup> tile_b : array<array<array<array<array<vec4f, kLanesN>, 2>, 4>, kFours>, 2>;
fn column(vector : u32, four : u32) -> u32 { return vector ^ (four * 4u); }

// What one invocation stages: vector e of its own in a tile of `row` vectors: which vector (mode 0) or row (else), and
// which k.
fn place(mode : u32, row : u32, id : u32, e : u32) -> vec2u {
  let i = e * kLanes + id;
  if (mode == 0u) { return vec2u(i % row, i / row); }
  if (mode == 1u) { return vec2u(i / kFours, (i % kFours) * 4u); }
  return vec2u(i % (row * 4u), (i / (row * 4u)) * 4u);
}

// The column of b's block at which what an invocation stages begins.
fn column_of(p : vec2u) -> u32 { return select(p.x, 4u * p.x, kBMode == 0u); }

struct Staged {
  a : array<vec4f, kEachA>,
  b : array<vec4f, kEachB>,
}

fn store_a(buffer : u32, id : u32, e : u32, v : vec4f) {
  let at = place(kAMode, kRowA, id, e);
  if (kAMode == 0u) {
    tile_a[buffer][at.y / 4u][at.y % 4u][at.x / kLanesM][column(at.x % kLanesM, at.y / 4u)] = v;
  } else {
    let half = at.x / (4u * kLanesM);
    let vector = column((at.x / 4u) % kLanesM, at.y / 4u);
    for (var j = 0u; j < 4u; j++) { tile_a[buffer][at.y / 4u][j][half][vector][at.x % 4u] = v[j]; }
  }
}
fn store_b(buffer : u32, id : u32, e : u32, v : vec4f) {
  let at = place(kBMode, kRowB, id, e);
  if (kBMode == 0u) {
    tile_b[buffer][at.y / 4u][at.y % 4u][at.x / kLanesN][column(at.x % kLanesN, at.y / 4u)] = v;
  } else {
    let half = at.x / (4u * kLanesN);
    let vector = column((at.x / 4u) % kLanesN, at.y / 4u);
    for (var j = 0u; j < 4u; j++) { tile_b[buffer][at.y / 4u][j][half][vector][at.x % 4u] = v[j]; }
  }
}
fn store(buffer : u32, id : u32, staged : Staged) {
  for (var e = 0u; e < kEachA; e++) { store_a(buffer, id, e, staged.a[e]); }
  for (var e = 0u; e < kEachB; e++) { store_b(buffer, id, e, staged.b[e]); }
}

alias Sums = array<array<vec4f, 2>, 8>;

fn multiply(buffer : u32, row : u32, col : u32, sums : ptr<function, Sums>) {
  for (var k = 0u; k < kTileK; k++) {
    let four = k / 4u;
    let a0 = tile_a[buffer][four][k % 4u][0][column(row, four)];
    let a1 = tile_a[buffer][four][k % 4u][1][column(row, four)];
    let b0 = tile_b[buffer][four][k % 4u][0][column(col, four)];
    let b1 = tile_b[buffer][four][k % 4u][1][column(col, four)];
    for (var i = 0u; i < 4u; i++) {
      (*sums)[i][0] = fma(vec4f(a0[i]), b0, (*sums)[i][0]);
      (*sums)[i][1] = fma(vec4f(a0[i]), b1, (*sums)[i][1]);
      (*sums)[i + 4u][0] = fma(vec4f(a1[i]), b0, (*sums)[i + 4u][0]);
      (*sums)[i + 4u][1] = fma(vec4f(a1[i]), b1, (*sums)[i + 4u][1]);
    }
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / (kTilesM * kTilesN);
  let m0 = ((tile / kTilesN) % kTilesM) * kTileM;
  let n0 = (tile % kTilesN) * kOwnN;
  let at = vec2u(a_begin(batch), b_begin(batch));
  let row = id / kLanesN;
  let col = id % kLanesN;
  var sums : Sums;
  var staged : Staged;

  // Where this invocation's vectors begin at k = 0.
  var from_a : array<u32, kEachA>;
  var from_b : array<u32, kEachB>;
  let first = products() - (max(products(), 1u) - 1u) / kTileK * kTileK;  // k of the first step: at most kTileK
  for (var e = 0u; e < kEachA; e++) {
    let p = place(kAMode, kRowA, id, e);
    let m = min(m0 + select(p.x, 4u * p.x, kAMode == 0u), max(kM, kLastA) - kLastA);
    from_a[e] = at.x + m * kARow + p.y * kACol;
    let left = select(0u, first - p.y, p.y < first);
    staged.a[e] = a_some(from_a[e], left);
  }
  for (var e = 0u; e < kEachB; e++) {
    let p = place(kBMode, kRowB, id, e);
    let n = min(n0 + column_of(p) % kOwnN, max(kN, kLastB) - kLastB);
    from_b[e] = fetch_begin(column_of(p), at.y) + n * kBCol + p.y * kBRow;
    let left = select(0u, first - p.y, p.y < first);
    staged.b[e] = fetch_some(column_of(p), from_b[e], left);
  }
  store(0u, id, staged);
  workgroupBarrier();

  var buffer = 0u;
  for (var k0 = first; k0 < products(); k0 += kTileK) {
    for (var e = 0u; e < kEachA; e++) { staged.a[e] = a_four(from_a[e] + k0 * kACol); }
    for (var e = 0u; e < kEachB; e++) { staged.b[e] = fetch_four(column_of(place(kBMode, kRowB, id, e)), from_b[e] + k0 * kBRow); }
    multiply(buffer, row, col, &sums);
    buffer ^= 1u;
    store(buffer, id, staged);
    workgroupBarrier();
  }
  multiply(buffer, row, col, &sums);

  for (var i = 0u; i < 8u; i++) {
    let m = m0 + (i / 4u) * kTileM / 2u + row * 4u + i % 4u;
    for (var j = 0u; j < 8u / kMatrices; j++) {
      let n = n0 + (j / 4u) * kTileN / 2u + col * 4u + j % 4u;
      if (m < kM && n < kN) { y_put((batch * kM + m) * kN + n, gate(sums[i][j / 4u][j % 4u], sums[i][1][j % 4u])); }
    }
  }
}
//)wgsl"
