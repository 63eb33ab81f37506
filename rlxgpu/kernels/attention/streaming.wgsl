/*/**/R"wgsl(*/
// Attention without a matrix of scores. A workgroup owns kRows rows: a row is one query of one head, and all the query heads
// that share a head of keys are rows of the same block, so that each key and value is loaded once for all of them.
// It walks over the keys in tiles of kTile:
//
//        keys ->    tile 0   tile 1 ..        scores  = q . k, kKeysEach keys for each invocation, all rows
//   rows   +------+--------+--------+          p       = exp(score - greatest score so far), in workgroup memory
//     |    |  q   | scores | scores |          sums    = those before, times exp(old greatest - new one), plus p . v:
//     v    +------+--------+--------+                    four columns and kRowsEach rows for each invocation
//
// With kSplits > 1 the keys are shared by several workgroups, which leave sums, greatest score and denominator to
// combine.wgsl. Hidden scores are kLeast; a row that sees no key has denominator 0 and gives zeros.
//#params
const kKvHeads = 4u;
const kGroup = 1u;         // query heads for each head of keys
const kQueries = 64u;      // as laid out: the largest number
const kKeys = 64u;
const kKSize = 64u;        // columns of queries and keys
const kVSize = 64u;        // of values
const kScale = 0.125f;
const kSoftcap = 0.0f;     // 0: none
const kCausal = false;
const kWindow = 0u;        // 0: none
const kSequenceFirst = false;  // (batch, query, head, column), else (batch, head, query, column)
const kKOffset = 0u;
const kKBatch = 16384u;    // between neighbours along each axis
const kKHead = 4096u;
const kKRow = 64u;
const kKCol = 1u;
const kVOffset = 0u;
const kVBatch = 16384u;
const kVHead = 4096u;
const kVRow = 64u;
const kVCol = 1u;
const kLengthBatch = 0u;   // in the list of lengths
const kMaskBatch = 0u;     // in the mask and the bias; 0: broadcast
const kMaskHead = 0u;
const kMaskQuery = 0u;
const kMaskKey = 0u;
const kBiasBatch = 0u;
const kBiasHead = 0u;
const kBiasQuery = 0u;
const kBiasKey = 0u;
const kRows = 16u;         // powers of two
const kLanes = 64u;
const kColumns = 16u;      // invocations side by side along the columns of a value
const kColsEach = 1u;      // vectors of an invocation, kColumns apart
const kRowGroups = 4u;     // such rows of invocations; they share the rows
const kBlocks = 4u;        // of rows, for each head of keys
const kSplits = 1u;
const kTiles = 16u;        // workgroups in all
const kGridRow = 16u;      // workgroups in one row of the grid
//#end
const kHeads = kKvHeads * kGroup;
const kD4 = (kKSize + 3u) / 4u;
const kDv4 = (kVSize + 3u) / 4u;
const kRowsEach = kRows / kRowGroups;
const kTile = kLanes * kKeysEach;
const kParts = max(1u, kLanes / kRows);  // invocations that share a row of p
const kPart = kTile / kParts;
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
const_assert kColumns * kRowGroups <= kLanes;
const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number
//#extents
fn queries() -> u32 { return kQueries; }
fn keys() -> u32 { return kKeys; }
//#end
//#input q
@group(0) @binding(0) var<storage, read> q : array<f32>;
fn q_at(i : u32) -> f32 { return q[i]; }
//#end
// Four neighbours of a key (or value) from column 4 d on, zero beyond the end.
//#slot k_vector
alias KWords = f32;
fn k_load(i : u32) -> f32 { return k[i]; }
fn k_vector(at : u32, d : u32) -> vec4f { return vec4f(k_load(at), k_load(at + 1u), k_load(at + 2u), k_load(at + 3u)); }
//#end
//#raw k
@group(0) @binding(1) var<storage, read> k : array<KWords>;
//#end
//#slot v_vector
alias VWords = f32;
fn v_load(i : u32) -> f32 { return v[i]; }
fn v_vector(at : u32, d : u32) -> vec4f { return vec4f(v_load(at), v_load(at + 1u), v_load(at + 2u), v_load(at + 3u)); }
//#end
//#raw v
@group(0) @binding(2) var<storage, read> v : array<VWords>;
//#end
//#if LENGTH
//#input length
@group(0) @binding(3) var<storage, read> length : array<u32>;
fn length_at(i : u32) -> u32 { return length[i]; }
//#end
//#end
//#if MASK
//#input mask
@group(0) @binding(4) var<storage, read> mask : array<u32>;
fn mask_at(i : u32) -> bool { return mask[i] != 0u; }
//#end
//#end
//#if BIAS
//#input bias
@group(0) @binding(5) var<storage, read> bias : array<f32>;
fn bias_at(i : u32) -> f32 { return bias[i]; }
//#end
//#end
//#if WHOLE
//#output y
@group(0) @binding(6) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#end
//#if PARTS
//#raw parts
@group(0) @binding(7) var<storage, read_write> parts : array<f32>;
//#end
//#end
//#slot length_of
fn length_of(batch : u32) -> u32 { return length_at(batch * kLengthBatch); }
//#end
//#slot mask_of
fn mask_of(batch : u32, head : u32, query : u32, key : u32) -> bool {
  return mask_at(batch * kMaskBatch + head * kMaskHead + query * kMaskQuery + key * kMaskKey);
}
//#end
//#slot bias_of
fn bias_of(batch : u32, head : u32, query : u32, key : u32) -> f32 {
  return bias_at(batch * kBiasBatch + head * kBiasHead + query * kBiasQuery + key * kBiasKey);
}
//#end
// How many keys there are, which of them some queries see, and what becomes of a product: score.h has them in full.
//#slot scores
fn key_count(batch : u32) -> u32 { return keys(); }
fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u { return vec2u(0u, count); }
fn score(product : f32, batch : u32, head : u32, query : u32, key : u32, count : u32) -> f32 {
  return select(kLeast, product, key < count);
}
fn decay(d : f32) -> f32 { return exp(d); }
//#end

var<workgroup> qs : array<vec4f, kRows * kD4>;
var<workgroup> p : array<f32, kRows * kTile>;
var<workgroup> greatest : array<f32, kRows>;
var<workgroup> denominator : array<f32, kRows>;
var<workgroup> shrink : array<f32, kRows>;
var<workgroup> part_max : array<f32, kRows * kParts>;
var<workgroup> part_sum : array<f32, kRows * kParts>;

// Where a row's element is in q or the result, whose vectors have `size` columns.
fn place(batch : u32, head : u32, query : u32, size : u32) -> u32 {
  let row = select((batch * kHeads + head) * kQueries + query, (batch * kQueries + query) * kHeads + head, kSequenceFirst);
  return row * size;
}

fn q_vector(batch : u32, head : u32, query : u32, d : u32) -> vec4f {
  let i = place(batch, head, query, kKSize) + 4u * d;
  var u : vec4f;
  u.x = q_at(i);
  if (4u * d + 1u < kKSize) { u.y = q_at(i + 1u); }
  if (4u * d + 2u < kKSize) { u.z = q_at(i + 2u); }
  if (4u * d + 3u < kKSize) { u.w = q_at(i + 3u); }
  return u * kScale;
}

// Scores of all rows with the keys of one invocation.
//#slot products
const kKeysEach = 1u;
fn products(lane : u32, at : u32, batch : u32, kv_head : u32, first_row : u32, k0 : u32, last : u32, count : u32) {
  var sums : array<f32, kRows>;
  let key = k0 + lane;
  let k_row = at + min(key, max(last, 1u) - 1u) * kKRow;
  for (var d = 0u; d < kD4; d++) {
    let u = k_vector(k_row, d);
    for (var r = 0u; r < kRows; r++) { sums[r] += dot(u, qs[r * kD4 + d]); }
  }
  for (var r = 0u; r < kRows; r++) {
    let row = first_row + r;
    let s = score(sums[r], batch, kv_head * kGroup + row % kGroup, row / kGroup, key, count);
    p[r * kTile + lane] = select(kLeast, s, key < last);
  }
}
//#end

// What is left of a row's columns: divided, or left to others.
//#slot finish
fn finish(batch : u32, head : u32, query : u32, split : u32, column : u32, u : vec4f, most : f32, sum : f32) {
  let i = place(batch, head, query, kVSize) + 4u * column;
  let w = u / select(sum, 1.0f, sum == 0.0f);
  y_put(i, w.x);
  if (4u * column + 1u < kVSize) { y_put(i + 1u, w.y); }
  if (4u * column + 2u < kVSize) { y_put(i + 2u, w.z); }
  if (4u * column + 3u < kVSize) { y_put(i + 3u, w.w); }
}
//#end

fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let first_row = tile % kBlocks * kRows;
  let split = tile / kBlocks % kSplits;
  let kv_head = tile / (kBlocks * kSplits) % kKvHeads;
  let batch = tile / (kBlocks * kSplits * kKvHeads);
  let rows = kQueries * kGroup;
  for (var i = lane; i < kRows * kD4; i += kLanes) {
    let row = min(first_row + i / kD4, rows - 1u);
    qs[i] = q_vector(batch, kv_head * kGroup + row % kGroup, row / kGroup, i % kD4);
  }
  for (var r = lane; r < kRows; r += kLanes) {
    greatest[r] = kLeast;
    denominator[r] = 0.0f;
  }
  let count = key_count(batch);
  let seen = key_range(first_row / kGroup, (min(first_row + kRows, rows) - 1u) / kGroup, count);
  let share = (seen.y - seen.x + kSplits - 1u) / kSplits;
  let last = min(seen.x + (split + 1u) * share, seen.y);
  let k_at = kKOffset + batch * kKBatch + kv_head * kKHead;
  let v_at = kVOffset + batch * kVBatch + kv_head * kVHead;

  let column = lane % kColumns;
  let r0 = min(lane / kColumns, kRowGroups - 1u) * kRowsEach;
  var sums : array<vec4f, kRowsEach * kColsEach>;

  // Once at least, with every key hidden if need be: lavapipe crashes where a loop with barriers has no trip at all.
  let first = seen.x + split * share;
  let end = max(last, first + 1u);
  for (var k0 = first; k0 < end; k0 += kTile) {
    workgroupBarrier();  // q is there; p has been used
    products(lane, k_at, batch, kv_head, first_row, k0, last, count);
    workgroupBarrier();
    for (var i = lane; i < kRows * kParts; i += kLanes) {
      var most = kLeast;
      for (var j = 0u; j < kPart; j++) { most = max(most, p[i * kPart + j]); }
      part_max[i] = most;
    }
    workgroupBarrier();
    for (var i = lane; i < kRows * kParts; i += kLanes) {
      let r = i / kParts;
      var most = greatest[r];
      for (var j = 0u; j < kParts; j++) { most = max(most, part_max[r * kParts + j]); }
      var sum = 0.0f;
      for (var j = 0u; j < kPart; j++) {
        let s = p[i * kPart + j];
        let e = select(decay(s - most), 0.0f, s <= kLeast);
        // Neither <= nor > holds for a NaN: it and +infinity make the row NaN.
        let u = select(from_bits(0x7fc00000u), e, (bitcast<u32>(s) & 0x7fffffffu) < 0x7f800000u || s <= kLeast);
        p[i * kPart + j] = u;
        sum += u;
      }
      part_sum[i] = sum;
      if (i % kParts == 0u) { shrink[r] = decay(greatest[r] - most); }
    }
    workgroupBarrier();
    for (var r = lane; r < kRows; r += kLanes) {
      var sum = denominator[r] * shrink[r];
      var most = greatest[r];
      for (var j = 0u; j < kParts; j++) {
        sum += part_sum[r * kParts + j];
        most = max(most, part_max[r * kParts + j]);
      }
      denominator[r] = sum;
      greatest[r] = most;
    }
    for (var c = 0u; c < kColsEach; c++) {
      for (var r = 0u; r < kRowsEach; r++) { sums[c * kRowsEach + r] *= shrink[r0 + r]; }
    }
    let some = min(kTile, max(last, k0) - k0);
    for (var j = 0u; j < some; j++) {
      for (var c = 0u; c < kColsEach; c++) {
        let u = v_vector(v_at + (k0 + j) * kVRow, min(column + c * kColumns, kDv4 - 1u));
        for (var r = 0u; r < kRowsEach; r++) { sums[c * kRowsEach + r] += p[(r0 + r) * kTile + j] * u; }
      }
    }
  }
  workgroupBarrier();
  if (lane >= kColumns * kRowGroups) { return; }
  for (var c = 0u; c < kColsEach; c++) {
    for (var r = 0u; r < kRowsEach; r++) {
      let row = first_row + r0 + r;
      if (row < rows && column + c * kColumns < kDv4) {
        finish(batch, kv_head * kGroup + row % kGroup, row / kGroup, split, column + c * kColumns, sums[c * kRowsEach + r],
               greatest[r0 + r], denominator[r0 + r]);
      }
    }
  }
}
//)wgsl"
