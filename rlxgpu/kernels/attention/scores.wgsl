/*/**/R"wgsl(*/
// The first of three kernels: scores of 4 * kR rows with 4 * kLanes keys, four keys for each invocation; see streaming.wgsl for
// what a row is. Keys are used 4 * kR times from registers; of four rows of q each lane of a quad loads one and hands it to
// the others (rlxgpu/kernels/matmul/packed.wgsl says why). No barrier. Tiles that nobody sees are left as they are, for nobody
// reads them.
enable subgroups;
//#params
const kKvHeads = 4u;
const kGroup = 1u;         // query heads for each head of keys
const kQueries = 64u;      // as laid out: the largest number
const kKeys = 64u;
const kQSize = 64u;        // columns
const kKSize = 64u;
const kScale = 0.125f;
const kSoftcap = 0.0f;     // 0: none
const kCausal = false;
const kWindow = 0u;        // 0: none
const kQOffset = 0u;
const kQBatch = 16384u;    // between neighbours along each axis
const kQHead = 4096u;
const kQRow = 64u;
const kQCol = 1u;
const kKOffset = 0u;
const kKBatch = 16384u;
const kKHead = 4096u;
const kKRow = 64u;
const kKCol = 1u;
const kLengthBatch = 0u;   // in the list of lengths
const kMaskBatch = 0u;     // in the mask and the bias; 0: broadcast
const kMaskHead = 0u;
const kMaskQuery = 0u;
const kMaskKey = 0u;
const kBiasBatch = 0u;
const kBiasHead = 0u;
const kBiasQuery = 0u;
const kBiasKey = 0u;
const kR = 8u;
const kPVectors = 5120u;   // of p; an array of known size is read faster by lavapipe
const kPitch = 20u;        // vectors between neighbouring rows of p
const kLanes = 8u;
const kAllSeen = false;    // every query sees every key
const kTiles = 8u;         // workgroups in all
const kGridRow = 8u;       // workgroups in one row of the grid
//#end
const kRows = kQueries * kGroup;
const kD4 = (kKSize + 3u) / 4u;
const kKeys4 = (kKeys + 3u) / 4u;
const kBlocks = (kRows + 4u * kR - 1u) / (4u * kR);
const kKeyTiles = (kKeys4 + kLanes - 1u) / kLanes;
const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number
alias Sums = array<mat4x4f, kR>;  // four keys of four rows
//#extents
fn queries() -> u32 { return kQueries; }
fn keys() -> u32 { return kKeys; }
//#end
//#slot q_vector
alias QWords = f32;
fn q_load(i : u32) -> f32 { return q[i]; }
fn q_vector(at : u32, d : u32) -> vec4f { return vec4f(q_load(at), q_load(at + 1u), q_load(at + 2u), q_load(at + 3u)); }
//#end
//#raw q
@group(0) @binding(0) var<storage, read> q : array<QWords>;
//#end
//#slot k_vector
alias KWords = f32;
fn k_load(i : u32) -> f32 { return k[i]; }
fn k_vector(at : u32, d : u32) -> vec4f { return vec4f(k_load(at), k_load(at + 1u), k_load(at + 2u), k_load(at + 3u)); }
//#end
//#raw k
@group(0) @binding(1) var<storage, read> k : array<KWords>;
//#end
//#if LENGTH
//#input length
@group(0) @binding(2) var<storage, read> length : array<u32>;
fn length_at(i : u32) -> u32 { return length[i]; }
//#end
//#end
//#if MASK
//#input mask
@group(0) @binding(3) var<storage, read> mask : array<u32>;
fn mask_at(i : u32) -> bool { return mask[i] != 0u; }
//#end
//#end
//#if BIAS
//#input bias
@group(0) @binding(4) var<storage, read> bias : array<f32>;
fn bias_at(i : u32) -> f32 { return bias[i]; }
//#end
//#end
//#raw p
@group(0) @binding(5) var<storage, read_write> p : array<vec4f, kPVectors>;
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
//#slot scores
fn key_count(batch : u32) -> u32 { return keys(); }
fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u { return vec2u(0u, count); }
fn score(product : f32, batch : u32, head : u32, query : u32, key : u32, count : u32) -> f32 {
  return select(kLeast, product, key < count);
}
fn decay(d : f32) -> f32 { return exp(d); }
//#end

fn row(u : vec4f, k : mat4x4f) -> vec4f { return (u.x * k[0] + u.y * k[1]) + (u.z * k[2] + u.w * k[3]); }

fn add(sums : ptr<function, Sums>, at : u32, first : u32, keys_at : vec4u, d : u32) {
  let k = transpose(mat4x4f(k_vector(keys_at.x, d), k_vector(keys_at.y, d), k_vector(keys_at.z, d), k_vector(keys_at.w, d)));
  for (var i = 0u; i < kR; i++) {
    let r = min(first + 4u * i, kRows - 1u);
    let u = q_vector(at + r / kGroup * kQRow + r % kGroup * kQHead, d);
    sums[i][0] += row(quadBroadcast(u, 0u), k);
    sums[i][1] += row(quadBroadcast(u, 1u), k);
    sums[i][2] += row(quadBroadcast(u, 2u), k);
    sums[i][3] += row(quadBroadcast(u, 3u), k);
  }
}

fn put(sum : vec4f, batch : u32, kv_head : u32, r : u32, key4 : u32, count : u32) {
  // Known to the compiler where tiles fit: lavapipe's masks take 8 % of the time.
  if ((kRows % (4u * kR) == 0u || r < kRows) && (kKeys4 % kLanes == 0u || key4 < kKeys4)) {
    let head = kv_head * kGroup + r % kGroup;
    let query = r / kGroup;
    let s = sum * kScale;
    let key = 4u * key4;
    p[((batch * kKvHeads + kv_head) * kRows + r) * kPitch + key4] =
        vec4f(score(s.x, batch, head, query, key, count), score(s.y, batch, head, query, key + 1u, count),
              score(s.z, batch, head, query, key + 2u, count), score(s.w, batch, head, query, key + 3u, count));
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32,
        @builtin(subgroup_invocation_id) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (kTiles % kGridRow != 0u && tile >= kTiles) { return; }
  let key_tile = tile % kKeyTiles;
  let first = tile / kKeyTiles % kBlocks * 4u * kR;
  let kv_head = tile / (kKeyTiles * kBlocks) % kKvHeads;
  let batch = tile / (kKeyTiles * kBlocks * kKvHeads);
  let count = key_count(batch);
  let seen = key_range(first / kGroup, (min(first + 4u * kR, kRows) - 1u) / kGroup, count);
  if (!kAllSeen && (key_tile * 4u * kLanes >= seen.y || (key_tile + 1u) * 4u * kLanes <= seen.x)) { return; }
  let q_at = kQOffset + batch * kQBatch + kv_head * kGroup * kQHead;
  let key = 4u * (key_tile * kLanes + lane);
  let keys_at = kKOffset + batch * kKBatch + kv_head * kKHead + min(key + vec4u(0u, 1u, 2u, 3u), vec4u(kKeys - 1u)) * kKRow;
  var sums : Sums;
  for (var d = 0u; d < kD4; d += 2u) {
    add(&sums, q_at, first + id % 4u, keys_at, d);
    if (kD4 % 2u == 0u || d + 1u < kD4) { add(&sums, q_at, first + id % 4u, keys_at, d + 1u); }
  }
  for (var i = 0u; i < kR; i++) {
    put(sums[i][0], batch, kv_head, first + 4u * i, key / 4u, count);
    put(sums[i][1], batch, kv_head, first + 4u * i + 1u, key / 4u, count);
    put(sums[i][2], batch, kv_head, first + 4u * i + 2u, key / 4u, count);
    put(sums[i][3], batch, kv_head, first + 4u * i + 3u, key / 4u, count);
  }
}
//)wgsl"
