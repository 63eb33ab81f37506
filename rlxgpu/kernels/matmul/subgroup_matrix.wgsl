/*/**/R"wgsl(*/
// One workgroup owns one kTileM x kTileN block of c; its kSubsM x kSubsN subgroups have a part each, of kEachM x
// kEachN products of the matrix units (kFragM x kFragN, over kFragK):
//          n ->
//        +-------+-------+      For kTileK of k at a time, a and b are staged in workgroup memory, both with k
//      m |  sub  |  sub  |      innermost: what a lane of a matrix unit holds (part of a row of a, of a column
//      | |   0   |   1   |      of b) is one run of memory, hence wide loads. A vector more for each row keeps
//      v +-------+-------+      neighbouring rows in different banks.
//        |  sub  |  sub  |
//        |   2   |   3   |      While one step is multiplied, the next is on its way to registers.
//        +-------+-------+
// Along k the first step takes what is left over, so that all others are whole; beyond the end of k both operands are
// zero. Rows and columns beyond the edges repeat the last one and are not stored: nothing outside is read.
//#if F16
enable f16;
//#end
enable subgroups;
//#if SIZED
enable subgroup_size_control;
//#end
enable chromium_experimental_subgroup_matrix;
//#params
/*)wgsl"
#include "rlxgpu/kernels/matmul/sizes.part.wgsl"
R"wgsl(*/
const kFragM = 16u;        // a shape of the matrix units that the adapter has
const kFragN = 16u;
const kFragK = 16u;
const kSubsM = 2u;
const kSubsN = 2u;
const kEachM = 4u;
const kEachN = 4u;
const kTileK = 16u;
const kSubgroup = 32u;     // invocations in a subgroup
const kPer = 8u;           // elements in a vector of 16 bytes
// How elements come from storage: 0: a vector along k; 1: vectors along m (or n) for two neighbouring k; 2: one by one.
const kAMode = 0u;
const kBMode = 1u;
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
/*)wgsl"
#include "rlxgpu/kernels/matmul/batch.part.wgsl"
R"wgsl(*/
//#slot types
alias Left = subgroup_matrix_left<f16, kFragK, kFragM>;
alias Right = subgroup_matrix_right<f16, kFragN, kFragK>;
//#end
alias Sum = subgroup_matrix_result<f32, kFragN, kFragM>;
const kAStep = kACol;      // between neighbours along k
const kBStep = kBRow;
const kLanes = kSubsM * kSubsN * kSubgroup;
const kTileM = kSubsM * kEachM * kFragM;
const kTileN = kSubsN * kEachN * kFragN;
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kTilesN = (kN + kTileN - 1u) / kTileN;
const kVectors = kTileK / kPer;    // of one row of a, of one column of b
const kRow = kVectors + 1u;
// What invocations stage: a unit is a vector, or two in mode 1.
const kUnitsA = select(kTileM * kVectors, kTileM * kVectors / 2u, kAMode == 1u);
const kUnitsB = select(kTileN * kVectors, kTileN * kVectors / 2u, kBMode == 1u);
const kMineA = (kUnitsA + kLanes - 1u) / kLanes;
const kMineB = (kUnitsB + kLanes - 1u) / kLanes;
const_assert kTileK % kFragK == 0u && kFragK % kPer == 0u;
const_assert ((kAMode != 1u && kBMode != 1u) || kPer == 8u);
const_assert (kTileM + kTileN) * kRow * 16u + kSubsM * kSubsN * kFragM * kFragN * 4u <= 16384u;  // default limit
//#raw a
@group(0) @binding(0) var<storage, read> a : array<AWords>;
//#end
//#raw b
@group(0) @binding(1) var<storage, read> b : array<BWords>;
//#end
// A vector of elements from element i on, as its bits; the first `count` of them, others zero.
//#slot a_load
alias AWords = vec4u;
fn a_load(i : u32) -> vec4u { return a[i / kPer]; }
//#end
//#slot a_some
fn a_some(i : u32, count : u32) -> vec4u {
  if (count == 0u) { return vec4u(); }
  return a_load(i);
}
//#end
//#slot b_load
alias BWords = vec4u;
fn b_load(i : u32) -> vec4u { return b[i / kPer]; }
//#end
//#slot b_some
fn b_some(i : u32, count : u32) -> vec4u {
  if (count == 0u) { return vec4u(); }
  return b_load(i);
}
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

var<workgroup> tile_a : array<vec4u, kTileM * kRow>;
var<workgroup> tile_b : array<vec4u, kTileN * kRow>;
var<workgroup> result : array<f32, kSubsM * kSubsN * kFragM * kFragN>;

// Where a unit begins in a tile of `size` rows: its row and its k.
fn place(mode : u32, size : u32, unit : u32) -> vec2u {
  if (mode == 0u) { return vec2u(unit / kVectors, unit % kVectors * kPer); }
  if (mode == 1u) { return vec2u(unit / (kTileK / 2u) * kPer, unit % (kTileK / 2u) * 2u); }
  return vec2u(unit % size, unit / size * kPer);
}

// Vectors of k and k + 1 along m or n, as pairs of neighbouring k: of even places, of odd ones.
fn even_pairs(k0 : vec4u, k1 : vec4u) -> vec4u { return (k0 & vec4u(0xffffu)) | (k1 << vec4u(16u)); }
fn odd_pairs(k0 : vec4u, k1 : vec4u) -> vec4u { return (k0 >> vec4u(16u)) | (k1 & vec4u(0xffff0000u)); }

struct Staged {
  a : array<array<vec4u, 2>, kMineA>,
  b : array<array<vec4u, 2>, kMineB>,
}

fn store(id : u32, staged : Staged) {
  for (var e = 0u; e < kMineA; e++) {
    let unit = e * kLanes + id;
    let p = place(kAMode, kTileM, unit);
    if (kUnitsA % kLanes == 0u || unit < kUnitsA) {
      if (kAMode == 1u) {
        let even = even_pairs(staged.a[e][0], staged.a[e][1]);
        let odd = odd_pairs(staged.a[e][0], staged.a[e][1]);
        for (var j = 0u; j < 4u; j++) {
          tile_a[(p.x + 2u * j) * kRow + p.y / 8u][p.y / 2u % 4u] = even[j];
          tile_a[(p.x + 2u * j + 1u) * kRow + p.y / 8u][p.y / 2u % 4u] = odd[j];
        }
      } else {
        tile_a[p.x * kRow + p.y / kPer] = staged.a[e][0];
      }
    }
  }
  for (var e = 0u; e < kMineB; e++) {
    let unit = e * kLanes + id;
    let p = place(kBMode, kTileN, unit);
    if (kUnitsB % kLanes == 0u || unit < kUnitsB) {
      if (kBMode == 1u) {
        let even = even_pairs(staged.b[e][0], staged.b[e][1]);
        let odd = odd_pairs(staged.b[e][0], staged.b[e][1]);
        for (var j = 0u; j < 4u; j++) {
          tile_b[(p.x + 2u * j) * kRow + p.y / 8u][p.y / 2u % 4u] = even[j];
          tile_b[(p.x + 2u * j + 1u) * kRow + p.y / 8u][p.y / 2u % 4u] = odd[j];
        }
      } else {
        tile_b[p.x * kRow + p.y / kPer] = staged.b[e][0];
      }
    }
  }
}

alias Sums = array<array<Sum, kEachN>, kEachM>;

// row, col: where the subgroup's part begins in the tiles.
fn multiply(row : u32, col : u32, sums : ptr<function, Sums>) {
  for (var k = 0u; k < kTileK; k += kFragK) {
    var right : array<Right, kEachN>;  // all of it is written before it is read
    for (var j = 0u; j < kEachN; j++) {
      right[j] = subgroupMatrixLoad<Right, col_major>(&tile_b, (col + j * kFragN) * kRow + k / kPer, kRow);
    }
    for (var i = 0u; i < kEachM; i++) {
      let left = subgroupMatrixLoad<Left, row_major>(&tile_a, (row + i * kFragM) * kRow + k / kPer, kRow);
      for (var j = 0u; j < kEachN; j++) {
        (*sums)[i][j] = subgroupMatrixMultiplyAccumulate(left, right[j], (*sums)[i][j]);
      }
    }
  }
}

struct Part {
  sub : u32,
  batch : u32,
  m : u32,
  n : u32,
}

// Elements are reached through workgroup memory, one product of the matrix units at a time. In a loop over sums they
// would be indexed by a number unknown to the compiler, and live in memory (navi31: 64 scratch accesses a step).
fn put(part : Part, lane : u32, i : u32, j : u32, sum : Sum) {
  let mine = part.sub * kFragM * kFragN;
  subgroupMatrixStore<row_major>(&result, mine, sum, kFragN);
  workgroupBarrier();
  for (var e = lane; e < kFragM * kFragN; e += kSubgroup) {
    let m = part.m + i * kFragM + e / kFragN;
    let n = part.n + j * kFragN + e % kFragN;
    if (m < kM && n < kN) { y_put((part.batch * kM + m) * kN + n, result[mine + e]); }
  }
  workgroupBarrier();
}

@compute @workgroup_size(kLanes)
//#if SIZED
@subgroup_size(kSubgroup)
//#end
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32,
        @builtin(subgroup_id) sub : u32, @builtin(subgroup_invocation_id) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / (kTilesM * kTilesN);
  let m0 = ((tile / kTilesN) % kTilesM) * kTileM;
  let n0 = (tile % kTilesN) * kTileN;
  let at = vec2u(a_begin(batch), b_begin(batch));
  let row = sub / kSubsN * kEachM * kFragM;
  let col = sub % kSubsN * kEachN * kFragN;
  var sums : Sums;
  var staged : Staged;

  // Where this invocation's units begin at k = 0.
  var from_a : array<u32, kMineA>;
  var from_b : array<u32, kMineB>;
  let first = products() - (max(products(), 1u) - 1u) / kTileK * kTileK;  // k of the first step: at most kTileK
  for (var e = 0u; e < kMineA; e++) {
    let p = place(kAMode, kTileM, e * kLanes + id);
    let m = min(m0 + p.x, max(kM, kPer) - select(1u, kPer, kAMode == 1u));
    from_a[e] = at.x + m * kARow + p.y * kACol;
    staged.a[e][0] = a_some(from_a[e], select(0u, first - p.y, p.y < first));
    if (kAMode == 1u) { staged.a[e][1] = a_some(from_a[e] + kACol, select(0u, first - p.y - 1u, p.y + 1u < first)); }
  }
  for (var e = 0u; e < kMineB; e++) {
    let p = place(kBMode, kTileN, e * kLanes + id);
    let n = min(n0 + p.x, max(kN, kPer) - select(1u, kPer, kBMode == 1u));
    from_b[e] = at.y + n * kBCol + p.y * kBRow;
    staged.b[e][0] = b_some(from_b[e], select(0u, first - p.y, p.y < first));
    if (kBMode == 1u) { staged.b[e][1] = b_some(from_b[e] + kBRow, select(0u, first - p.y - 1u, p.y + 1u < first)); }
  }
  store(id, staged);
  workgroupBarrier();

  for (var k0 = first; k0 < products(); k0 += kTileK) {
    for (var e = 0u; e < kMineA; e++) {
      staged.a[e][0] = a_load(from_a[e] + k0 * kACol);
      if (kAMode == 1u) { staged.a[e][1] = a_load(from_a[e] + (k0 + 1u) * kACol); }
    }
    for (var e = 0u; e < kMineB; e++) {
      staged.b[e][0] = b_load(from_b[e] + k0 * kBRow);
      if (kBMode == 1u) { staged.b[e][1] = b_load(from_b[e] + (k0 + 1u) * kBRow); }
    }
    multiply(row, col, &sums);
    workgroupBarrier();
    store(id, staged);
    workgroupBarrier();
  }
  multiply(row, col, &sums);

  let part = Part(sub, batch, m0 + row, n0 + col);
//#slot puts
  put(part, lane, 0u, 0u, sums[0][0]);
//#end
}
//)wgsl"
