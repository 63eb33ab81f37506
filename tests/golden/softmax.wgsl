
// As softmax.wgsl, for rows that lie in memory one after another and fit into registers: an invocation keeps kEach vectors of
// four elements; kLanes invocations share a row. The four are neighbours, and vectors of a lane kLanes apart; where rows are
// no whole vectors (RAGGED), the four are kVectors apart, and the last may be beyond the row. Two barriers for a row, or none where
// they are one subgroup (SUBGROUP). On lavapipe 1024 x 1024 takes 1.5 ms of processor time, with barriers 2.0: it
// computes the exponentials again after a barrier rather than keep them.
const kRows = 8u;
const kCols = 32u;
const kVectors = 8u;  // in a row
const kLog = false;    // log_softmax
const kLanes = 8u;     // a power of two
const kEach = 1u;
const kGroupRows = 8u;
const kGridRow = 1u;  // workgroups in one row of the grid
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
const kWhole = kEach * kLanes == kVectors;
const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number
fn y_map(i : u32, v : f32) -> f32 {
  return v;
}
fn y_put4(i : u32, v : vec4<f32>) {
  b1[i / 4u] = vec4<f32>(y_map(i, v.x), y_map(i | 1u, v.y), y_map(i | 2u, v.z), y_map(i | 3u, v.w));
}
alias XWords = vec4f;
fn x_load4(i : u32) -> vec4f { return x[i]; }
@group(0) @binding(0) var<storage, read> x : array<XWords, kRows * kVectors>;
fn load(row : u32, c : u32) -> vec4f { return x_load4(row * kVectors + c); }
fn in_row(v : vec4f, c : u32) -> vec4f { return v; }
fn put(row : u32, c : u32, v : vec4f) { y_put4(4u * (row * kVectors + c), v); }

// exp(d) for d <= 0; exactly 0 below -88, where the power of two is. Drivers' exp may be hundreds of ulps off; this polynomial
// (Cephes) is not. Added to 1.5 * 2^23, n stands in the low bits as an integer: conversions saturate, for which lavapipe
// takes vectors apart (softmax 1024 x 1024: 1.7 ms with i32(n), 0.9 so).
fn decay(d : f32) -> f32 {
  let c = max(d, -88.0f);
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<f32>((bitcast<u32>(n + 12582912.0f) << 23u) + 0x3f800000u);
}
// The same of four, each at most 0.
fn decay4(d : vec4f) -> vec4f {
  let c = max(d, vec4f(-88.0f));
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  return (1.0f + (r + r * r * tail)) * bitcast<vec4f>((bitcast<vec4u>(n + 12582912.0f) << vec4u(23u)) + 0x3f800000u);
}


const kSize = kLanes * kGroupRows;
fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }

const kFew = min(kLanes, 8u);
var<workgroup> partial : array<f32, 2u * kSize>;
// Every lane combines the last few for itself: one barrier instead of three more.
fn greatest(id : u32, v : f32) -> f32 {
  let lane = id % kLanes;
  partial[id] = v;
  for (var half = kLanes / 2u; half >= kFew; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[id] = max(partial[id], partial[id + half]); }
  }
  workgroupBarrier();
  var most = partial[id - lane];
  for (var i = 1u; i < kFew; i++) { most = max(most, partial[id - lane + i]); }
  return most;
}
fn total(id : u32, v : f32) -> f32 {
  let lane = id % kLanes;
  let at = kSize + id;
  partial[at] = v;
  for (var half = kLanes / 2u; half >= kFew; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[at] += partial[at + half]; }
  }
  workgroupBarrier();
  var sum = 0.0f;
  for (var i = 0u; i < kFew; i++) { sum += partial[at - lane + i]; }
  return sum;
}

@compute @workgroup_size(kSize)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = id % kLanes;
  let row = (group.y * kGridRow + group.x) * kGroupRows + id / kLanes;
  let this_row = min(row, kRows - 1u);
  var held : array<vec4f, kEach>;
  var most4 = vec4f(kLeast);
  for (var j = 0u; j < kEach; j++) {
    let c = lane + j * kLanes;
    if (kWhole || c < kVectors) {
      let v = load(this_row, c);
      held[j] = v;
      // A NaN counts as infinity, which makes the row NaN.
      most4 = max(most4, select(v, vec4f(from_bits(0x7f800000u)), (bitcast<vec4u>(v) & vec4u(0x7fffffffu)) > vec4u(0x7f800000u)));
    }
  }
  let m = greatest(id, max(max(most4.x, most4.y), max(most4.z, most4.w)));
  var sum4 = vec4f();
  for (var j = 0u; j < kEach; j++) {
    let c = lane + j * kLanes;
    if (kWhole || c < kVectors) {
      let e = in_row(decay4(held[j] - m), c);
      sum4 += e;
      if (!kLog) { held[j] = e; }
    }
  }
  let s = total(id, dot(sum4, vec4f(1.0f)));
  if (row >= kRows) { return; }
  let valid = (bitcast<u32>(m) & 0x7f800000u) != 0x7f800000u && s != 0.0f;
  let factor = select(from_bits(0x7fc00000u), 1.0f / s, valid);
  let shift = select(from_bits(0x7fc00000u), log(s), valid);
  for (var j = 0u; j < kEach; j++) {
    let c = lane + j * kLanes;
    if (kWhole || c < kVectors) {
      if (kLog) {
        put(row, c, (held[j] - m) - shift);
      } else {
        put(row, c, held[j] * factor);
      }
    }
  }
}
@group(0) @binding(1) var<storage, read_write> b1 : array<vec4<f32>>;
