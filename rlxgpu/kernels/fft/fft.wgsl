/*/**/R"wgsl(*/
// Transforms of n() points, all alike. How a transform is computed is the body's business (below, and bodies.h); where
// its points come from and go to is said once, here. Transform `row` has the points (outer, j, inner) of x, where the axis worked
// on may be one of several that a long transform was split into:
//      index along the whole axis:  g = j * in_step + (part of row)
// and its results go to g = k * out_step + (part of row). So one dispatch of a long transform takes its columns, the
// next its rows, and nothing is transposed in between. On the way in and out:
// - beyond in_data the input is zero, or (mirror) the conjugate of point `points - g` as long as there is one;
// - turn: real and imaginary part change places, which turns an inverse transform into a forward one;
// - factors: before, after (by g) and between the dispatches of one transform (step);
// - order: points and results are elsewhere along the axis (Rader's method), point 0 apart from the others.
// Rows beyond the last repeat it: they store what is stored there anyway.
//#if SUBGROUPS
enable subgroups;
//#end
//#params
const kLanes = 64u;
const kMemory = 16u;  // points in workgroup memory
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<vec2f>;
fn x_at(i : u32) -> vec2f { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<vec2f>;
fn y_put(i : u32, v : vec2f) { y[i] = v; }
//#end
//#if FACTORS
//#raw factors
@group(0) @binding(2) var<storage, read> factors : array<vec2f>;
//#end
//#end
//#if ROOTS
//#raw roots
@group(0) @binding(3) var<storage, read> roots : array<vec2f>;
//#end
//#end
//#if FREE
//#raw plan
@group(0) @binding(4) var<storage, read> plan : array<u32>;
//#end
//#end
//#slot point_at
fn point_at(i : u32) -> vec2f { return x_at(i); }
//#end
//#slot point_put
fn point_put(i : u32, v : vec2f) { y_put(i, v); }
//#end
//#slot sizes
fn n() -> u32 { return 16u; }
fn radices() -> u32 { return 0x1111u; }  // of each pass one less than its radix, four bits each, the first lowest
fn passes() -> u32 { return 4u; }
fn together() -> u32 { return 1u; }      // transforms in a workgroup
fn across() -> u32 { return 0u; }        // 1: neighbouring invocations take neighbouring transforms, not points
fn rows() -> u32 { return 1u; }
fn inner() -> u32 { return 1u; }
fn in_step() -> u32 { return 1u; }
fn in_data() -> u32 { return 16u; }
fn points() -> u32 { return 16u; }
fn mirror() -> u32 { return 0u; }
fn out_step() -> u32 { return 1u; }
fn swap_a() -> u32 { return 1u; }        // part (a, b) of (swap_a, swap_b) of a row's results goes to (b, a)
fn swap_b() -> u32 { return 1u; }
fn out_data() -> u32 { return 16u; }
fn turns() -> u32 { return 0u; }         // bits: of what is read, of what is stored before and after its factor
fn before() -> u32 { return 0u; }        // 1: factors[g] before the transform
fn after_at() -> u32 { return 0u; }      // where in factors those after it start, and one more; 0: none
fn step_at() -> u32 { return 0u; }       // likewise of the step
fn step_low() -> u32 { return 1u; }      // factors of low digits of a step; those of high digits follow
fn order_in() -> u32 { return 0u; }      // where in factors the places of points start (bits of .x), and one more
fn order_out() -> u32 { return 0u; }     // likewise of results
fn alone() -> u32 { return 0u; }         // point 0 is not in the transform: 1: it is added to all results; 2: stored apart
fn scale() -> f32 { return 1.0f; }
//#end
//#slot factor_at
fn factor_at(i : u32) -> vec2f { return factors[i]; }
//#end

fn product(a : vec2f, b : vec2f) -> vec2f { return a * b.x + vec2f(-a.y, a.x) * b.y; }

fn place_of(order : u32, g : u32) -> u32 {
  if (order == 0u) { return g; }
  return bitcast<u32>(factor_at(order - 1u + g).x);
}

// Point `at` of the axis, which is given, or mirrored. start: of the row in x.
fn given(start : u32, at : u32) -> vec2f {
  let mirrored = mirror() == 1u && at >= in_data();
  var v = point_at(start + select(at, points() - at, mirrored) * inner());
  v.y = select(v.y, -v.y, mirrored);
  if ((turns() & 1u) != 0u) { v = v.yx; }
  return v;
}

// Point j of transform `row`, which is known to be given, or mirrored.
fn fetch_given(row : u32, j : u32) -> vec2f {
  let part = row % (in_step() * inner());
  let g = j * in_step() + part / inner();
  let v = given((row / (in_step() * inner())) * in_data() * inner() + part % inner(), place_of(order_in(), g));
  if (before() == 1u) { return product(v, factor_at(g)); }
  return v;
}

fn fetch(row : u32, j : u32) -> vec2f {
  let g = j * in_step() + (row % (in_step() * inner())) / inner();
  if (order_in() == 0u && g >= in_data() && (mirror() == 0u || g >= points())) { return vec2f(); }
  return fetch_given(row, j);
}

fn deliver(row : u32, k : u32, result : vec2f) {
  let part = row % (out_step() * inner());
  let digits = part / inner();
  let g = k * out_step() + (digits % swap_b()) * swap_a() + digits / swap_b();
  let start = (row / (out_step() * inner())) * out_data() * inner() + part % inner();
  let at = place_of(order_out(), g);
  var v = result;
  if ((turns() & 2u) != 0u) { v = v.yx; }
  if (alone() == 1u && g == 0u) {
    let first = given((row / inner()) * in_data() * inner() + row % inner(), 0u);
    point_put(start + (out_data() - 1u) * inner(), finished(v + first));
    v = product(v, factor_at(after_at() - 1u)) + first;
  } else if (after_at() != 0u) {
    v = product(v, factor_at(after_at() - 1u + g));
  }
  if (step_at() != 0u) {
    let s = k * digits;
    v = product(v, factor_at(step_at() - 1u + s % step_low()));
    if (s >= step_low()) { v = product(v, factor_at(step_at() - 1u + step_low() + s / step_low())); }
  }
  if (alone() == 2u && g == 0u) {
    let kept = point_at((row / inner()) * in_data() * inner() + row % inner() + (in_data() - 1u) * inner());
    point_put(start, finished(kept.yx));
  }
  if (at < out_data()) { point_put(start + at * inner(), finished(v)); }
}

fn finished(v : vec2f) -> vec2f {
  if ((turns() & 4u) != 0u) { return v.yx * scale(); }
  return v * scale();
}

//#slot body
// In passes between two halves of workgroup memory (Stockham). Before a pass with radix r, memory holds transforms of
// `done` points that lie n / done apart in x, one after another; the pass joins r of them to each longer one:
//      n = 12 = 3 * 4      x0 .. x11 | (x0 x4 x8)^ (x1 x5 x9)^ .. | (x0 .. x11)^
// One invocation sums up one point. All barriers are reached by every invocation.
var<workgroup> memory : array<vec2f, 2u * kMemory>;

fn main_loop(first_row : u32, id : u32) {
  let count = together() * n();
  for (var i = id; i < count; i += kLanes) {
    let t = select(i / n(), i % together(), across() == 1u);
    let j = select(i % n(), i / together(), across() == 1u);
    memory[t * n() + j] = fetch(min(first_row + t, rows() - 1u), j);
  }
  workgroupBarrier();
  var done = 1u;
  var source = 0u;
  for (var p = 0u; p < passes(); p++) {
    let r = ((radices() >> (4u * p)) & 15u) + 1u;
    let joined = done * r;
    let apart = n() / joined;
    for (var i = id; i < count; i += kLanes) {
      let k = (i % n()) % joined;
      let base = source + (i / n()) * n() + ((i % n()) / joined) * done + k % done;
      var sum = memory[base];
      for (var j = 1u; j < r; j++) { sum += product(memory[base + j * apart * done], roots[(j * k * apart) % n()]); }
      memory[kMemory - source + i] = sum;
    }
    workgroupBarrier();
    source = kMemory - source;
    done = joined;
  }
  for (var i = id; i < count; i += kLanes) {
    let t = select(i / n(), i % together(), across() == 1u);
    let k = select(i % n(), i / together(), across() == 1u);
    deliver(min(first_row + t, rows() - 1u), k, memory[source + t * n() + k]);
  }
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u, @builtin(local_invocation_index) id : u32) {
  main_loop((group.y * groups.x + group.x) * together(), id);
}
//#end
//)wgsl"
