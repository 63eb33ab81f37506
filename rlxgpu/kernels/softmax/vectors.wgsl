/*/**/R"wgsl(*/
// As softmax.wgsl, for rows that lie in memory one after another and fit into registers: an invocation keeps kEach vectors of
// four elements; kLanes invocations share a row. The four are neighbours, and vectors of a lane kLanes apart; where rows are
// no whole vectors (RAGGED), the four are kVectors apart, and the last may be beyond the row. Two barriers for a row, or none where
// they are one subgroup (SUBGROUP). On lavapipe 1024 x 1024 takes 1.5 ms of processor time, with barriers 2.0: it
// computes the exponentials again after a barrier rather than keep them.
//#if SUBGROUP
enable subgroups;
//#end
//#params
const kRows = 64u;
const kCols = 64u;
const kVectors = 16u;  // in a row
const kLog = false;    // log_softmax
const kLanes = 8u;     // a power of two
const kEach = 2u;
const kGroupRows = 1u;
const kGridRow = 64u;  // workgroups in one row of the grid
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
const kWhole = kEach * kLanes == kVectors;
const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i | 1u] = v.y;
  y[i | 2u] = v.z;
  y[i | 3u] = v.w;
}
//#end
//#if RAGGED
/*
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
fn columns(c : u32) -> vec4u { return c + vec4u(0u, 1u, 2u, 3u) * kVectors; }
fn load(row : u32, c : u32) -> vec4f {  // instead of an element beyond the row the last one
  let i = row * kCols + min(columns(c), vec4u(kCols - 1u));
  return vec4f(x_load(i.x), x_load(i.y), x_load(i.z), x_load(i.w));
}
fn in_row(v : vec4f, c : u32) -> vec4f { return select(vec4f(), v, columns(c) < vec4u(kCols)); }
fn put(row : u32, c : u32, v : vec4f) {
  let i = row * kCols + columns(c);
  y_put(i.x, v.x);
  y_put(i.y, v.y);
  y_put(i.z, v.z);
  if (columns(c).w < kCols) { y_put(i.w, v.w); }
}
*/
//#else
//#slot x_load4
alias XWords = vec4f;
fn x_load4(i : u32) -> vec4f { return x[i]; }
//#end
//#raw x
@group(0) @binding(0) var<storage, read> x : array<XWords, kRows * kVectors>;
//#end
fn load(row : u32, c : u32) -> vec4f { return x_load4(row * kVectors + c); }
fn in_row(v : vec4f, c : u32) -> vec4f { return v; }
fn put(row : u32, c : u32, v : vec4f) { y_put4(4u * (row * kVectors + c), v); }
//#end
//#slot decay
fn decay4(d : vec4f) -> vec4f { return exp(d); }
//#end

const kSize = kLanes * kGroupRows;
fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }

//#if SUBGROUP
fn greatest(id : u32, v : f32) -> f32 { return subgroupMax(v); }
fn total(id : u32, v : f32) -> f32 { return subgroupAdd(v); }
//#else
/*
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
*/
//#end

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
//)wgsl"
