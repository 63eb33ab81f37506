
// One workgroup owns one kTileM x kTileN block of c and walks along k, staging blocks of a and b:
//            k ->                 n ->
//        +---+---+---+        +---+---+---+
//      m |   |   |   |      k |   | # |   |     Each invocation computes kRowsEach x kColsEach elements
//      | | # | # | # |  x   | |   | # |   |     of c, 16 apart in both directions, so that neighbours
//      v |   |   |   |      v |   | # |   |     read and write neighbouring addresses.
//        +---+---+---+        +---+---+---+     Rows and columns beyond the edges are staged as zeros.
// Of two matrices (kMatrices) the halves of b's block are the same columns of both, so that an invocation has both sums
// of an element.
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
// The sizes of a product's matrices, and the distances of neighbours in them. A part of //#params.
const kM = 33u;
const kN = 20u;
const kK = 64u;            // as laid out: the largest number of products in a sum
const kARow = 64u;         // between neighbours along m in a
const kACol = 1u;          // between neighbours along k in a
const kBRow = 20u;         // between neighbours along k in b
const kBCol = 1u;          // between neighbours along n in b
const kAAlongM = 0u;       // 1: neighbours in a's memory are neighbours along m
const kBAlongK = 0u;       // 1: neighbours in b's memory are neighbours along k
const kRowsEach = 4u;
const kColsEach = 2u;
const kTileK = 16u;
const kMatrices = 1u;      // 2: y is made of the sums of b and of u
const kURow = 0u;         // between neighbours along k in u
const kUCol = 0u;          // between neighbours along n in u
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
// How many products a sum has, and where the matrices of a batch begin.
fn products() -> u32 { return 64u; }
fn a_begin(i : u32) -> u32 {
  return 0u;
}
fn b_begin(i : u32) -> u32 {
  return 0u;
}
const kTileM = 16u * kRowsEach;
const kTileN = 16u * kColsEach;
const kOwnN = kTileN / kMatrices;  // columns of c
const kTilesM = (kM + kTileM - 1u) / kTileM;
const kTilesN = (kN + kOwnN - 1u) / kOwnN;
const_assert kTileK * (kTileM + kTileN) * 4u <= 16384u;  // workgroup memory, default limit
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_load(i : u32) -> f32 { return a[i]; }
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_load(i : u32) -> f32 { return b[i]; }
fn fetch(matrix : u32, begin : u32, k : u32, n : u32) -> Acc { return b_load(begin + k * kBRow + n * kBCol); }

fn gate(sum : Acc, up : Acc) -> Acc { return sum; }

fn y_map(i : u32, v : f32) -> f32 {
  let c0 = i % 20u;
  let t1 = b2[c0];
  let t2 = (v + t1);
  let t3 = select(t2, 0.0, t2 < 0.0);
  return t3;
}
fn y_put(i : u32, v : f32) {
  let stored = y_map(i, v);
  b3[i] = stored;
}

var<workgroup> tile_a : array<array<Acc, kTileM>, kTileK>;
var<workgroup> tile_b : array<array<Acc, kTileN>, kTileK>;

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / (kTilesM * kTilesN);
  let m0 = ((tile / kTilesN) % kTilesM) * kTileM;
  let n0 = (tile % kTilesN) * kOwnN;
  let at = vec2u(a_begin(batch), b_begin(batch));
  let row = id / 16u;
  let col = id % 16u;
  var sums : array<array<Acc, kColsEach>, kRowsEach>;

  for (var k0 = 0u; k0 < products(); k0 += kTileK) {
    for (var e = id; e < kTileM * kTileK; e += 256u) {
      let m = select(e / kTileK, e % kTileM, kAAlongM == 1u);
      let k = select(e % kTileK, e / kTileM, kAAlongM == 1u);
      var v = Acc(0);
      if (m0 + m < kM && k0 + k < products()) { v = a_load(at.x + (m0 + m) * kARow + (k0 + k) * kACol); }
      tile_a[k][m] = v;
    }
    for (var e = id; e < kTileN * kTileK; e += 256u) {
      let n = select(e % kTileN, e / kTileK, kBAlongK == 1u);
      let k = select(e / kTileN, e % kTileK, kBAlongK == 1u);
      var v = Acc(0);
      if (n0 + n % kOwnN < kN && k0 + k < products()) { v = fetch(n / kOwnN, at.y, k0 + k, n0 + n % kOwnN); }
      tile_b[k][n] = v;
    }
    // Multiplies the blocks of both operands that a workgroup has staged in tile_a and tile_b: inside the loop over k.
    workgroupBarrier();
    for (var k = 0u; k < kTileK; k++) {
      var b_each : array<Acc, kColsEach>;  // all of it is written before it is read
      for (var j = 0u; j < kColsEach; j++) { b_each[j] = tile_b[k][col + 16u * j]; }
      for (var i = 0u; i < kRowsEach; i++) {
        let a_each = tile_a[k][row + 16u * i];
        for (var j = 0u; j < kColsEach; j++) { sums[i][j] += a_each * b_each[j]; }
      }
    }
    workgroupBarrier();  // the next step overwrites both blocks
  }
  for (var i = 0u; i < kRowsEach; i++) {
    for (var j = 0u; j < kColsEach / kMatrices; j++) {
      let m = m0 + row + 16u * i;
      let n = n0 + col + 16u * j;
      if (m < kM && n < kN) { y_put((batch * kM + m) * kN + n, gate(sums[i][j], sums[i][kColsEach / kMatrices * (kMatrices - 1u) + j])); }
    }
  }
}
@group(0) @binding(2) var<storage, read> b2 : array<f32>;
@group(0) @binding(3) var<storage, read_write> b3 : array<f32>;
