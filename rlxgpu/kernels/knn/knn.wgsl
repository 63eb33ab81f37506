/*/**/R"wgsl(*/
// Each invocation has one row of a and walks over all rows of b, kTile at a time: an element of a is loaded once for kTile
// products, and elements of b are the same for the whole workgroup. The kKeep nearest so far are kept in order in memory of
// the invocation's own; a row that is not nearer than the last of them costs one comparison. No product is ever stored.
// Distances are compared as whole numbers in the same order, so that zeros are equal and NaN comes last on every driver.
//#params
const kM = 64u;          // rows of a
const kN = 64u;          // rows of b
const kD = 8u;           // columns of both
const kKeep = 4u;
const kMetric = 0u;      // 0: squared Euclidean, 1: inner product, 2: cosine
const kSelf = 0u;        // 1: row i of b is no neighbour of row i of a
const kLanes = 8u;
const kGridRow = 8u;     // workgroups in one row of the grid
//#end
const kTile = 16u;
//#input a
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_at(i : u32) -> f32 { return a[i]; }
//#end
//#input b
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_at(i : u32) -> f32 { return b[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#output distance
@group(0) @binding(3) var<storage, read_write> distance : array<f32>;
fn distance_put(i : u32, v : f32) { distance[i] = v; }
//#end

const kNoKey = 0xffffffffu;   // greater than every key
const kNanKey = 0xfffffffeu;

fn key_of(v : f32) -> u32 {
  let bits = bitcast<u32>(v);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return kNanKey; }
  if (magnitude == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, bits >= 0x80000000u);
}
fn value_of(key : u32) -> f32 {
  return bitcast<f32>(select(~key, key & 0x7fffffffu, key >= 0x80000000u));
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let row = (group.y * kGridRow + group.x) * kLanes + lane;
  let mine = min(row, kM - 1u) * kD;
  var keys : array<u32, kKeep>;
  var rows : array<u32, kKeep>;
  for (var i = 0u; i < kKeep; i++) { keys[i] = kNoKey; }
  var last = kNoKey;  // keys[kKeep - 1]

  var sums : array<f32, kTile>;
  var squares : array<f32, kTile>;  // of b's elements, for cosine
  for (var first = 0u; first < kN; first += kTile) {
    for (var j = 0u; j < kTile; j++) {  // not by their declaration: docs/drivers.md, Tint
      sums[j] = 0.0f;
      squares[j] = 0.0f;
    }
    var square = 0.0f;                // of a's elements
    for (var c = 0u; c < kD; c++) {
      let u = a_at(mine + c);
      if (kMetric == 2u) { square = fma(u, u, square); }
      for (var j = 0u; j < kTile; j++) {
        let v = b_at(min(first + j, kN - 1u) * kD + c);
        if (kMetric == 0u) {
          sums[j] = fma(u - v, u - v, sums[j]);
        } else {
          sums[j] = fma(u, v, sums[j]);
        }
        if (kMetric == 2u) { squares[j] = fma(v, v, squares[j]); }
      }
    }
    for (var j = 0u; j < min(kTile, kN - first); j++) {
      var key = 0u;
      if (kMetric == 0u) { key = key_of(sums[j]); }
      if (kMetric == 1u) { key = key_of(-sums[j]); }
      if (kMetric == 2u) {
        let lengths = sqrt(square) * sqrt(squares[j]);
        var cosine = 0.0f;
        if (lengths > 0.0f) { cosine = sums[j] / lengths; }
        key = key_of(1.0f - cosine);
      }
      if (key >= last || (kSelf == 1u && first + j == row)) { continue; }
      var at = kKeep - 1u;  // rows come in order, so an equal one before this stays before it
      while (at > 0u) {
        if (keys[at - 1u] <= key) { break; }
        keys[at] = keys[at - 1u];
        rows[at] = rows[at - 1u];
        at--;
      }
      keys[at] = key;
      rows[at] = first + j;
      last = keys[kKeep - 1u];
    }
  }
  if (row >= kM) { return; }
  for (var i = 0u; i < kKeep; i++) {
    let v = value_of(keys[i]);
    y_put(row * kKeep + i, i32(rows[i]));
    distance_put(row * kKeep + i, select(v, -v, kMetric == 1u));
  }
}
//)wgsl"
