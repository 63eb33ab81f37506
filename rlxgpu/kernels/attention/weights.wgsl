/*/**/R"wgsl(*/
// The second of three kernels: the scores of a row become exp(score - greatest), in place, and their sum is kept. kLanes
// invocations share a row, without barriers where they are one subgroup (SUBGROUP). Hidden scores become zero.
//#if SUBGROUP
enable subgroups;
//#end
//#params
const kKvHeads = 4u;
const kGroup = 1u;
const kQueries = 64u;
const kKeys = 64u;
const kCausal = false;
const kWindow = 0u;
const kLengthBatch = 0u;
const kBlock = 64u;        // rows that see one range of keys together
const kPVectors = 5120u;   // of p; an array of known size is read faster by lavapipe
const kPitch = 20u;        // vectors between neighbouring rows of p
const kLanes = 8u;
const kHeld = false;
const kEach = 1u;          // vectors of a lane, if they are held
const kRowsInAll = 256u;
const kGridRow = 256u;
//#end
const kRows = kQueries * kGroup;
const kLeast = -0x1.fffffep+127f;
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
@group(0) @binding(1) var<storage, read_write> p : array<vec4f, kPVectors>;
//#end
//#raw sums
@group(0) @binding(2) var<storage, read_write> sums : array<f32>;
//#end
//#slot length_of
fn length_of(batch : u32) -> u32 { return length_at(batch * kLengthBatch); }
//#end
//#slot range
fn key_count(batch : u32) -> u32 { return keys(); }
fn key_range(first_query : u32, last_query : u32, count : u32) -> vec2u { return vec2u(0u, count); }
//#end
//#slot decay
fn decay4(d : vec4f) -> vec4f { return exp(d); }
//#end

fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }

//#if SUBGROUP
fn greatest(lane : u32, v : f32) -> f32 { return subgroupMax(v); }
fn total(lane : u32, v : f32) -> f32 { return subgroupAdd(v); }
//#else
/*
var<workgroup> partial : array<f32, 2u * kLanes>;
fn greatest(lane : u32, v : f32) -> f32 {
  partial[lane] = v;
  workgroupBarrier();
  var most = kLeast;
  for (var i = 0u; i < kLanes; i++) { most = max(most, partial[i]); }
  return most;
}
fn total(lane : u32, v : f32) -> f32 {
  partial[kLanes + lane] = v;
  workgroupBarrier();
  var sum = 0.0f;
  for (var i = 0u; i < kLanes; i++) { sum += partial[kLanes + i]; }
  return sum;
}
*/
//#end

fn weight(s : vec4f, most : f32) -> vec4f {
  let hidden = s <= vec4f(kLeast);
  // NaN and +infinity make the row NaN.
  let finite = (bitcast<vec4u>(s) & vec4u(0x7fffffffu)) < vec4u(0x7f800000u);
  return select(select(vec4f(from_bits(0x7fc00000u)), decay4(s - most), finite), vec4f(), hidden);
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let place = group.y * kGridRow + group.x;
  let index = select(min(place, kRowsInAll - 1u), place, kRowsInAll % kGridRow == 0u);  // a row too many is the last one again
  let row = index % kRows;
  let block = row / kBlock * kBlock;
  let seen = key_range(block / kGroup, (min(block + kBlock, kRows) - 1u) / kGroup, key_count(index / (kRows * kKvHeads)));
  let start = index * kPitch;
  let last = (seen.y + 3u) / 4u;
  var most4 = vec4f(kLeast);
  var sum4 = vec4f();
  if (kHeld) {  // every row sees all keys, and they stay in registers
    var held : array<vec4f, kEach>;
    for (var j = 0u; j < kEach; j++) {
      held[j] = p[start + lane + j * kLanes];
      most4 = max(most4, held[j]);
    }
    let most = greatest(lane, max(max(most4.x, most4.y), max(most4.z, most4.w)));
    for (var j = 0u; j < kEach; j++) {
      let e = weight(held[j], most);
      p[start + lane + j * kLanes] = e;
      sum4 += e;
    }
  } else {
    for (var c = seen.x / 4u + lane; c < last; c += kLanes) { most4 = max(most4, p[start + c]); }
    let most = greatest(lane, max(max(most4.x, most4.y), max(most4.z, most4.w)));
    for (var c = seen.x / 4u + lane; c < last; c += kLanes) {
      let e = weight(p[start + c], most);
      p[start + c] = e;
      sum4 += e;
    }
  }
  let sum = total(lane, dot(sum4, vec4f(1.0f)));
  if (lane == 0u) { sums[index] = sum; }
}
//)wgsl"
