/*/**/R"wgsl(*/
// As rows.wgsl, for rows of whole vectors that lie in memory one after another: an invocation takes kEach vectors of
// four neighbours, kLanes apart, and keeps them (kHeld) unless the row is too long for that. kLanes invocations share
// a row:         lanes  0  1 .. 7 | 0  1 .. 7 | ..
//              vectors  0  1 .. 7 | 8  9 .. 15 | ..
// On lavapipe a workgroup of 8 has one row: barriers cost 50 ns there, whatever the row's length.
//#params
const kRows = 64u;
const kVectors = 16u;  // in a row
const kCentred = true;
const kHeld = true;
const kEpsilon = 1e-5f;
const kLanes = 8u;     // a power of two
const kEach = 2u;
const kGroupRows = 1u;
const kGridRow = 64u;  // workgroups in one row of the grid
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
const kCols = 4u * kVectors;
const kWhole = kEach * kLanes == kVectors;
//#slot x_load4
alias XWords = vec4f;
fn x_load4(i : u32) -> vec4f { return x[i]; }
//#end
//#raw x
@group(0) @binding(0) var<storage, read> x : array<XWords, kRows * kVectors>;
//#end
//#if WEIGHT
//#slot w_load4
alias WWords = vec4f;
fn w_load4(i : u32) -> vec4f { return w[i]; }
//#end
//#raw w
@group(0) @binding(1) var<storage, read> w : array<WWords, kVectors>;
//#end
//#end
//#if BIAS
//#slot b_load4
alias BWords = vec4f;
fn b_load4(i : u32) -> vec4f { return b[i]; }
//#end
//#raw b
@group(0) @binding(2) var<storage, read> b : array<BWords, kVectors>;
//#end
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i | 1u] = v.y;
  y[i | 2u] = v.z;
  y[i | 3u] = v.w;
}
//#end
//#slot affine
fn affine(v : vec4f, c : u32) -> vec4f { return v * w_load4(c) + b_load4(c); }
//#end

const kSize = kLanes * kGroupRows;
const kFew = min(kLanes, 8u);
var<workgroup> partial : array<vec2f, 2u * kSize>;

// The sum over the lanes of a row; each pass has its own half of the array. Halved down to a few, which every lane adds
// for itself: one barrier instead of three more.
fn total(pass_number : u32, id : u32, v : vec2f) -> vec2f {
  let at = pass_number * kSize + id;
  let lane = id % kLanes;
  partial[at] = v;
  for (var half = kLanes / 2u; half >= kFew; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[at] += partial[at + half]; }
  }
  workgroupBarrier();
  var sum = vec2f();
  for (var i = 0u; i < kFew; i++) { sum += partial[at - lane + i]; }
  return sum;
}

@compute @workgroup_size(kSize)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = id % kLanes;
  let row = (group.y * kGridRow + group.x) * kGroupRows + id / kLanes;
  let start = min(row, kRows - 1u) * kVectors;
  var held : array<vec4f, select(1u, kEach, kHeld)>;
  var mean = 0.0f;
  if (kHeld) {
    for (var j = 0u; j < kEach; j++) {
      let c = lane + j * kLanes;
      if (kWhole || c < kVectors) { held[j] = x_load4(start + c); }
    }
  }
  if (kCentred) {
    var sum = vec4f();
    for (var j = 0u; j < kEach; j++) {
      let c = lane + j * kLanes;
      if (kHeld) {
        sum += held[j];
      } else if (kWhole || c < kVectors) {
        sum += x_load4(start + c);
      }
    }
    mean = total(0u, id, vec2f(dot(sum, vec4f(1.0f)), 0.0f)).x / f32(kCols);
  }
  var differences = vec4f();
  var squares = vec4f();
  for (var j = 0u; j < kEach; j++) {
    let c = lane + j * kLanes;
    if (kWhole || c < kVectors) {
      var d = held[select(0u, j, kHeld)];
      if (!kHeld) { d = x_load4(start + c); }
      d -= mean;
      if (kHeld) { held[j] = d; }
      differences += d;
      squares += d * d;
    }
  }
  let whole = total(1u, id, vec2f(dot(differences, vec4f(1.0f)), dot(squares, vec4f(1.0f)))) / f32(kCols);
  let left = select(0.0f, whole.x, kCentred);
  let factor = 1.0f / sqrt(max(whole.y - left * left, 0.0f) + kEpsilon);
  if (row >= kRows) { return; }
  for (var j = 0u; j < kEach; j++) {
    let c = lane + j * kLanes;
    if (kWhole || c < kVectors) {
      var d = held[select(0u, j, kHeld)];
      if (!kHeld) { d = x_load4(start + c) - mean; }
      y_put4(4u * (start + c), affine((d - left) * factor, c));
    }
  }
}
//)wgsl"
