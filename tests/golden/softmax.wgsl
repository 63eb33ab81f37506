
// One row is what lies along the axis; kLanes invocations share it, a workgroup holds kGroupRows rows.
// First pass: each lane keeps (m, s), the greatest element so far and the sum of exp(v - m); a tree in
// workgroup memory combines the lanes. Second pass: every element against the row's m and s.
// A row whose greatest element is not finite gives NaN throughout.
const kRows = 8u;
const kCols = 32u;     // as laid out: the largest number of columns
const kInner = 1u;     // elements between neighbours of one row
const kLanes = 8u;
const kGroupRows = 8u;
const kLaneStep = 1u;
const kRowStep = 8u;
const kGridRow = 1u;  // workgroups in one row of the grid
fn cols() -> u32 { return 32u; }
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
fn x_at(i : u32) -> f32 {
  let t0 = b0[i];
  return t0;
}
fn y_map(i : u32, v : f32) -> f32 {
  return v;
}
fn y_put(i : u32, v : f32) {
  let stored = y_map(i, v);
  b1[i] = stored;
}
fn normalised(v : f32, m : f32, s : f32) -> f32 { return decay(v - m) / s; }

const kLeast = -0x1.fffffep+127f;  // finite, so that kLeast - kLeast is a number


// exp(d) for d <= 0; exactly 0 below -87. Drivers' exp may be hundreds of ulps off; this polynomial (Cephes) is not.
fn decay(d : f32) -> f32 {
  let c = max(d, -87.0f);
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  let e = (1.0f + (r + r * r * tail)) * bitcast<f32>(u32(i32(n) + 127) << 23u);
  return select(0.0f, e, d >= -87.0f);
}
// The same of four, each at most 0.
fn decay4(d : vec4f) -> vec4f {
  let c = max(d, vec4f(-87.0f));
  let n = round(c * 1.44269504f);
  let r = (c - n * 0.693359375f) + n * 2.12194440e-4f;
  let p = ((1.9875691500e-4f * r + 1.3981999507e-3f) * r + 8.3334519073e-3f) * r + 4.1665795894e-2f;
  let tail = (p * r + 1.6666665459e-1f) * r + 5.0000001201e-1f;
  let e = (1.0f + (r + r * r * tail)) * bitcast<vec4f>(vec4u(vec4i(n) + 127) << vec4u(23u));
  return select(vec4f(), e, d >= vec4f(-87.0f));
}

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
@group(0) @binding(0) var<storage, read> b0 : array<f32>;
@group(0) @binding(1) var<storage, read_write> b1 : array<f32>;
