/*/**/R"wgsl(*/
// The last of three kernels: weights times values, 4 * kR rows and 4 * kLanes columns, four columns for each invocation, four
// keys in each step; divided by the sum of the weights. No barrier.
//#params
const kKvHeads = 4u;
const kGroup = 1u;
const kQueries = 64u;
const kKeys = 64u;
const kVSize = 64u;
const kCausal = false;
const kWindow = 0u;
const kSequenceFirst = false;  // (batch, query, head, column), else (batch, head, query, column)
const kVOffset = 0u;
const kVBatch = 16384u;
const kVHead = 4096u;
const kVRow = 64u;
const kVCol = 1u;
const kLengthBatch = 0u;
const kR = 16u;
const kLanes = 8u;
const kTiles = 8u;
const kGridRow = 8u;
//#end
const kRows = kQueries * kGroup;
const kHeads = kKvHeads * kGroup;
const kKeys4 = (kKeys + 3u) / 4u;
const kBlocks = (kRows + 4u * kR - 1u) / (4u * kR);
const kColTiles = (kVSize + 4u * kLanes - 1u) / (4u * kLanes);
alias Sums = array<vec4f, kR>;
//#extents
fn queries() -> u32 { return kQueries; }
fn keys() -> u32 { return kKeys; }
//#end
//#if LENGTH
//#input length
@group(0) @binding(0) var<storage, read> length : array<u32>;
fn length_at(i : u32) -> u32 { return length[i]; }
//#end
//#end
//#raw p
@group(0) @binding(1) var<storage, read> p : array<vec4f>;
//#end
//#raw sums
@group(0) @binding(2) var<storage, read> sums : array<f32>;
//#end
//#slot v_vector
alias VWords = f32;
fn v_load(i : u32) -> f32 { return v[i]; }
fn v_vector(at : u32, d : u32) -> vec4f { return vec4f(v_load(at), v_load(at + 1u), v_load(at + 2u), v_load(at + 3u)); }
//#end
//#raw v
@group(0) @binding(3) var<storage, read> v : array<VWords>;
//#end
//#output y
@group(0) @binding(4) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i + 1u] = v.y;
  y[i + 2u] = v.z;
  y[i + 3u] = v.w;
}
//#end
//#slot length_of
fn length_of(batch : u32) -> u32 { return length_at(batch * kLengthBatch); }
//#end
//#slot range
fn key_count(batch : u32) -> u32 { return keys(); }
fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u { return vec2u(0u, count); }
//#end

fn add(parts : ptr<function, Sums>, at : u32, v0 : vec4f, v1 : vec4f, v2 : vec4f, v3 : vec4f) {
  for (var i = 0u; i < kR; i++) {
    let u = p[at + i * kKeys4];
    parts[i] += (u.x * v0 + u.y * v1) + (u.z * v2 + u.w * v3);
  }
}

fn put(parts : ptr<function, Sums>, batch : u32, kv_head : u32, row : u32, column : u32) {
  for (var i = 0u; i < kR; i++) {
    let r = row + i;
    if (r < kRows && column < kVSize) {
      let head = kv_head * kGroup + r % kGroup;
      let query = r / kGroup;
      let line = select((batch * kHeads + head) * kQueries + query, (batch * kQueries + query) * kHeads + head, kSequenceFirst);
      let sum = sums[(batch * kKvHeads + kv_head) * kRows + r];
      let u = parts[i] / select(sum, 1.0f, sum == 0.0f);
      let at = line * kVSize + column;
      if (kVSize % 4u == 0u) {
        y_put4(at, u);
      } else {
        y_put(at, u.x);
        if (column + 1u < kVSize) { y_put(at + 1u, u.y); }
        if (column + 2u < kVSize) { y_put(at + 2u, u.z); }
        if (column + 3u < kVSize) { y_put(at + 3u, u.w); }
      }
    }
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let column4 = tile % kColTiles * kLanes + lane;
  let row = tile / kColTiles % kBlocks * 4u * kR;
  let kv_head = tile / (kColTiles * kBlocks) % kKvHeads;
  let batch = tile / (kColTiles * kBlocks * kKvHeads);
  let seen = key_range(row / kGroup, (min(row + 4u * kR, kRows) - 1u) / kGroup, key_count(batch));
  let first = ((batch * kKvHeads + kv_head) * kRows + row) * kKeys4;
  let v_at = kVOffset + batch * kVBatch + kv_head * kVHead;
  let d = min(column4, (kVSize + 3u) / 4u - 1u);
  var s0 : Sums;
  var s1 : Sums;
  var s2 : Sums;
  var s3 : Sums;
  let last = (seen.y + 3u) / 4u;
  for (var step = seen.x / 4u; step < last; step++) {
    let key = 4u * step;  // weights beyond the last key are zero
    let v0 = v_vector(v_at + key * kVRow, d);
    let v1 = v_vector(v_at + min(key + 1u, seen.y - 1u) * kVRow, d);
    let v2 = v_vector(v_at + min(key + 2u, seen.y - 1u) * kVRow, d);
    let v3 = v_vector(v_at + min(key + 3u, seen.y - 1u) * kVRow, d);
    add(&s0, first + step, v0, v1, v2, v3);
    add(&s1, first + kR * kKeys4 + step, v0, v1, v2, v3);
    add(&s2, first + 2u * kR * kKeys4 + step, v0, v1, v2, v3);
    add(&s3, first + 3u * kR * kKeys4 + step, v0, v1, v2, v3);
  }
  put(&s0, batch, kv_head, row, 4u * column4);
  put(&s1, batch, kv_head, row + kR, 4u * column4);
  put(&s2, batch, kv_head, row + 2u * kR, 4u * column4);
  put(&s3, batch, kv_head, row + 3u * kR, 4u * column4);
}
//)wgsl"
