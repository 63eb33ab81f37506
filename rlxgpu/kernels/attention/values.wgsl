/*/**/R"wgsl(*/
// The last of three kernels: weights times values, 4 * kR rows and 4 * kLanes columns, four columns for each invocation, eight
// keys in each step; divided by the sum of the weights. Of four rows of weights each lane of a quad loads one and hands it to
// the others (rlxgpu/kernels/matmul/packed.wgsl says why). No barrier.
enable subgroups;
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
const kR = 8u;
const kPVectors = 5120u;   // of p; an array of known size is read faster by lavapipe
const kPitch = 20u;        // vectors between neighbouring rows of p
const kLanes = 8u;
const kTiles = 8u;
const kGridRow = 8u;
//#end
const kRows = kQueries * kGroup;
const kHeads = kKvHeads * kGroup;
const kBlocks = (kRows + 4u * kR - 1u) / (4u * kR);
const kColTiles = (kVSize + 4u * kLanes - 1u) / (4u * kLanes);
alias Sums = array<mat4x4f, kR>;  // four columns of four rows
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
@group(0) @binding(1) var<storage, read> p : array<vec4f, kPVectors>;
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
  y[i | 1u] = v.y;
  y[i | 2u] = v.z;
  y[i | 3u] = v.w;
}
//#end
//#slot length_of
fn length_of(batch : u32) -> u32 { return length_at(batch * kLengthBatch); }
//#end
//#slot range
fn key_count(batch : u32) -> u32 { return keys(); }
fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u { return vec2u(0u, count); }
//#end

fn row(u : vec4f, v : mat4x4f) -> vec4f { return (u.x * v[0] + u.y * v[1]) + (u.z * v[2] + u.w * v[3]); }

// Four keys; weights of keys beyond the last are zero, and of the second four, if there are none, unknown.
fn add(parts : ptr<function, Sums>, at : u32, there : bool, v_at : u32, key : u32, last : u32, d : u32) {
  let v = mat4x4f(v_vector(v_at + min(key, last) * kVRow, d), v_vector(v_at + min(key + 1u, last) * kVRow, d),
                  v_vector(v_at + min(key + 2u, last) * kVRow, d), v_vector(v_at + min(key + 3u, last) * kVRow, d));
  for (var i = 0u; i < kR; i++) {
    let u = select(vec4f(), p[at + 4u * i * kPitch], there);
    parts[i][0] += row(quadBroadcast(u, 0u), v);
    parts[i][1] += row(quadBroadcast(u, 1u), v);
    parts[i][2] += row(quadBroadcast(u, 2u), v);
    parts[i][3] += row(quadBroadcast(u, 3u), v);
  }
}

fn put(part : vec4f, batch : u32, kv_head : u32, r : u32, column : u32) {
  if (r < kRows && column < kVSize) {
    let head = kv_head * kGroup + r % kGroup;
    let query = r / kGroup;
    let line = select((batch * kHeads + head) * kQueries + query, (batch * kQueries + query) * kHeads + head, kSequenceFirst);
    let sum = sums[(batch * kKvHeads + kv_head) * kRows + r];
    let u = part / select(sum, 1.0f, sum == 0.0f);
    let at = line * kVSize + column;
    if (kVSize % 4u == 0u) {
      y_put4(at, u);
    } else {
      // A loop: fewer values are alive at once than with four stores, which LLVM 21 may lose (docs/drivers.md).
      for (var e = 0u; e < min(4u, kVSize - column); e++) { y_put(at + e, u[e]); }
    }
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32,
        @builtin(subgroup_invocation_id) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let column4 = tile % kColTiles * kLanes + lane;
  let first = tile / kColTiles % kBlocks * 4u * kR;
  let kv_head = tile / (kColTiles * kBlocks) % kKvHeads;
  let batch = tile / (kColTiles * kBlocks * kKvHeads);
  let seen = key_range(first / kGroup, (min(first + 4u * kR, kRows) - 1u) / kGroup, key_count(batch));
  let at = ((batch * kKvHeads + kv_head) * kRows + first + id % 4u) * kPitch;
  let v_at = kVOffset + batch * kVBatch + kv_head * kVHead;
  let d = min(column4, (kVSize + 3u) / 4u - 1u);
  var parts : Sums;
  let last = (seen.y + 3u) / 4u;
  for (var step = seen.x / 4u; step < last; step += 2u) {
    add(&parts, at + step, true, v_at, 4u * step, seen.y - 1u, d);
    add(&parts, at + step + 1u, step + 1u < last, v_at, 4u * step + 4u, seen.y - 1u, d);
  }
  for (var i = 0u; i < kR; i++) {
    put(parts[i][0], batch, kv_head, first + 4u * i, 4u * column4);
    put(parts[i][1], batch, kv_head, first + 4u * i + 1u, 4u * column4);
    put(parts[i][2], batch, kv_head, first + 4u * i + 2u, 4u * column4);
    put(parts[i][3], batch, kv_head, first + 4u * i + 3u, 4u * column4);
  }
}
//)wgsl"
