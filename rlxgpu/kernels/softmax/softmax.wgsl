/*/**/R"wgsl(*/
// One row is what lies along the axis; kLanes invocations share it, a workgroup holds kGroupRows rows.
// First pass: each lane keeps (m, s), the greatest element so far and the sum of exp(v - m); a tree in
// workgroup memory combines the lanes. Second pass: every element against the row's m and s.
// A row whose greatest element is not finite gives NaN throughout.
//#params
const kRows = 64u;
const kCols = 64u;     // as laid out: the largest number of columns
const kInner = 1u;     // elements between neighbours of one row
const kLanes = 16u;
const kGroupRows = 4u;
const kLaneStep = 1u;
const kRowStep = 16u;
const kGridRow = 16u;  // workgroups in one row of the grid
//#end
//#extents
fn cols() -> u32 { return kCols; }
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#slot normalised
fn normalised(v : f32, m : f32, s : f32) -> f32 { return decay(v - m) / s; }
//#end

const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number

//#slot decay
fn decay(d : f32) -> f32 { return exp(d); }
//#end
fn from_bits(bits : u32) -> f32 { return bitcast<f32>(bits); }
fn is_nan(v : f32) -> bool { return (bitcast<u32>(v) & 0x7fffffffu) > 0x7f800000u; }
fn is_finite(v : f32) -> bool { return (bitcast<u32>(v) & 0x7f800000u) != 0x7f800000u; }

fn combine(a : vec2f, b : vec2f) -> vec2f {
  let greater = select(a, b, b.x > a.x);
  let other = select(b, a, b.x > a.x);
  return vec2f(greater.x, greater.y + other.y * decay(other.x - greater.x));
}

var<workgroup> partial : array<vec2f, kLanes * kGroupRows>;

@compute @workgroup_size(kLanes * kGroupRows)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = (id / kLaneStep) % kLanes;
  let local_row = (id / kRowStep) % kGroupRows;
  let row = (group.y * kGridRow + group.x) * kGroupRows + local_row;
  let start = (row / kInner) * (kCols * kInner) + row % kInner;
  let last = select(0u, cols(), row < kRows);

  var m = kLeast;
  var s = 0.0f;
  for (var col = lane; col < last; col += kLanes) {
    let given = x_at(start + col * kInner);
    let v = select(given, from_bits(0x7f800000u), is_nan(given));
    let e = decay(-abs(v - m));
    s = select(s + e, s * e + 1.0f, v > m);
    m = max(m, v);
  }
  partial[id] = vec2f(m, s);
  for (var half = kLanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[id] = combine(partial[id], partial[id + half * kLaneStep]); }
  }
  workgroupBarrier();
  let whole = partial[local_row * kRowStep];
  let valid = is_finite(whole.x) && whole.y != 0.0f;
  for (var col = lane; col < last; col += kLanes) {
    let i = start + col * kInner;
    y_put(i, select(from_bits(0x7fc00000u), normalised(x_at(i), whole.x, whole.y), valid));
  }
}
//)wgsl"
