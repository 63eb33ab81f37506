/*/**/R"wgsl(*/
// The first of three kernels: scores of 4 * kR rows with 4 * kLanes keys, four keys for each invocation; see streaming.wgsl for
// what a row is. Elements of q are the same for the whole workgroup, hence scalar loads where those are cheaper; keys are
// used 4 * kR times from registers. No barrier. Tiles that nobody sees are left as they are, for nobody reads them.
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
const kR = 16u;
const kLanes = 8u;
const kTiles = 8u;         // workgroups in all
const kGridRow = 8u;       // workgroups in one row of the grid
//#end
const kRows = kQueries * kGroup;
const kD4 = (kKSize + 3u) / 4u;
const kKeys4 = (kKeys + 3u) / 4u;
const kBlocks = (kRows + 4u * kR - 1u) / (4u * kR);
const kKeyTiles = (kKeys4 + kLanes - 1u) / kLanes;
const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number
alias Sums = array<vec4f, kR>;
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
@group(0) @binding(5) var<storage, read_write> p : array<vec4f>;
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

fn add(sums : ptr<function, Sums>, at : u32, row : u32, d : u32, k0 : vec4f, k1 : vec4f, k2 : vec4f, k3 : vec4f) {
  for (var i = 0u; i < kR; i++) {
    let r = min(row + i, kRows - 1u);
    let u = q_vector(at + r / kGroup * kQRow + r % kGroup * kQHead, d);
    sums[i] += (u.x * vec4f(k0.x, k1.x, k2.x, k3.x) + u.y * vec4f(k0.y, k1.y, k2.y, k3.y)) +
               (u.z * vec4f(k0.z, k1.z, k2.z, k3.z) + u.w * vec4f(k0.w, k1.w, k2.w, k3.w));
  }
}

fn put(sums : ptr<function, Sums>, batch : u32, kv_head : u32, row : u32, key4 : u32, count : u32) {
  for (var i = 0u; i < kR; i++) {
    let r = row + i;
    if (r < kRows && key4 < kKeys4) {
      let head = kv_head * kGroup + r % kGroup;
      let query = r / kGroup;
      let s = sums[i] * kScale;
      let key = 4u * key4;
      p[((batch * kKvHeads + kv_head) * kRows + r) * kKeys4 + key4] =
          vec4f(score(s.x, batch, head, query, key, count), score(s.y, batch, head, query, key + 1u, count),
                score(s.z, batch, head, query, key + 2u, count), score(s.w, batch, head, query, key + 3u, count));
    }
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let key_tile = tile % kKeyTiles;
  let row = tile / kKeyTiles % kBlocks * 4u * kR;
  let kv_head = tile / (kKeyTiles * kBlocks) % kKvHeads;
  let batch = tile / (kKeyTiles * kBlocks * kKvHeads);
  let count = key_count(batch);
  let seen = key_range(row / kGroup, (min(row + 4u * kR, kRows) - 1u) / kGroup, count);
  if (key_tile * 4u * kLanes >= seen.y || (key_tile + 1u) * 4u * kLanes <= seen.x) { return; }
  let q_at = kQOffset + batch * kQBatch + kv_head * kGroup * kQHead;
  let key = 4u * (key_tile * kLanes + lane);
  let k_at = kKOffset + batch * kKBatch + kv_head * kKHead;
  let at0 = k_at + min(key, kKeys - 1u) * kKRow;
  let at1 = k_at + min(key + 1u, kKeys - 1u) * kKRow;
  let at2 = k_at + min(key + 2u, kKeys - 1u) * kKRow;
  let at3 = k_at + min(key + 3u, kKeys - 1u) * kKRow;
  var s0 : Sums;
  var s1 : Sums;
  var s2 : Sums;
  var s3 : Sums;
  for (var d = 0u; d < kD4; d++) {
    let k0 = k_vector(at0, d);
    let k1 = k_vector(at1, d);
    let k2 = k_vector(at2, d);
    let k3 = k_vector(at3, d);
    add(&s0, q_at, row, d, k0, k1, k2, k3);
    add(&s1, q_at, row + kR, d, k0, k1, k2, k3);
    add(&s2, q_at, row + 2u * kR, d, k0, k1, k2, k3);
    add(&s3, q_at, row + 3u * kR, d, k0, k1, k2, k3);
  }
  put(&s0, batch, kv_head, row, key / 4u, count);
  put(&s1, batch, kv_head, row + kR, key / 4u, count);
  put(&s2, batch, kv_head, row + 2u * kR, key / 4u, count);
  put(&s3, batch, kv_head, row + 3u * kR, key / 4u, count);
}
//)wgsl"
