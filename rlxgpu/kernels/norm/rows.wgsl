/*/**/R"wgsl(*/
// One row is what is normalised together; kLanes invocations share it, a workgroup holds kGroupRows rows. Three passes
// over the row: its mean; the sums of the differences from that mean and of their squares; the result. The sum of
// the differences would be zero but for rounding: it mends mean and variance, so that a row of 10000 and a little
// noise has the variance of the noise. Unless kCentred, the mean is taken as zero. x may be a sum that others want, too.
//#params
const kRows = 64u;
const kCols = 64u;     // as laid out: the largest number of columns
const kInner = 1u;     // elements between neighbours of one row
const kColInner = 1u;  // columns for each step of the run-time extent
const kCentred = true;
const kEpsilon = 1e-5f;
const kLanes = 16u;
const kGroupRows = 4u;
const kLaneStep = 1u;
const kRowStep = 16u;
const kGridRow = 16u;  // workgroups in one row of the grid
//#end
//#extents
fn steps() -> u32 { return kCols; }
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#if WEIGHT
//#input weight
@group(0) @binding(1) var<storage, read> weight : array<f32>;
fn weight_at(i : u32) -> f32 { return weight[i]; }
//#end
//#end
//#if BIAS
//#input bias
@group(0) @binding(2) var<storage, read> bias : array<f32>;
fn bias_at(i : u32) -> f32 { return bias[i]; }
//#end
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#if KEPT
//#output sum
@group(0) @binding(4) var<storage, read_write> sum : array<f32>;
fn sum_put(i : u32, v : f32) { sum[i] = v; }
//#end
//#end
//#slot keep
fn keep(i : u32, v : f32) { sum_put(i, v); }
//#end
//#slot affine
fn affine(v : f32, col : u32) -> f32 { return v * weight_at(col) + bias_at(col); }
//#end

const kSize = kLanes * kGroupRows;
var<workgroup> partial : array<vec2f, 2u * kSize>;

// The sum over the lanes of a row; each pass has its own half of the array.
fn total(pass_number : u32, id : u32, lane : u32, row_start : u32, v : vec2f) -> vec2f {
  let base = pass_number * kSize;
  partial[base + id] = v;
  for (var half = kLanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[base + id] += partial[base + id + half * kLaneStep]; }
  }
  workgroupBarrier();
  return partial[base + row_start];
}

@compute @workgroup_size(kSize)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = (id / kLaneStep) % kLanes;
  let local_row = (id / kRowStep) % kGroupRows;
  let row = (group.y * kGridRow + group.x) * kGroupRows + local_row;
  let start = (row / kInner) * (kCols * kInner) + row % kInner;
  let cols = steps() * kColInner;
  let last = select(0u, cols, row < kRows);
  let scale = 1.0f / f32(cols);
  var mean = 0.0f;
  if (kCentred) {
    var all = 0.0f;
    for (var col = lane; col < last; col += kLanes) { all += x_at(start + col * kInner); }
    mean = total(0u, id, lane, local_row * kRowStep, vec2f(all, 0.0f)).x * scale;
  }
  var sums = vec2f();
  for (var col = lane; col < last; col += kLanes) {
    let d = x_at(start + col * kInner) - mean;
    sums += vec2f(d, d * d);
  }
  let whole = total(1u, id, lane, local_row * kRowStep, sums) * scale;
  let left = select(0.0f, whole.x, kCentred);
  let factor = 1.0f / sqrt(max(whole.y - left * left, 0.0f) + kEpsilon);
  for (var col = lane; col < last; col += kLanes) {
    let i = start + col * kInner;
    let v = x_at(i);
    keep(i, v);
    y_put(i, affine(((v - mean) - left) * factor, col));
  }
}
//)wgsl"
