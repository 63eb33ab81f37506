/*/**/R"wgsl(*/
// y[r, c] is the mean of the last kWindow elements of row r up to c, fewer at its beginning. One invocation for each.
//#params
const kCount = 64u;  // elements of y
const kCols = 16u;   // of one row
const kWindow = 4u;
const kRow = 64u;    // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let taken = min(i % kCols + 1u, kWindow);
  var sum = 0.0;
  for (var k = 0u; k < taken; k++) { sum += x_at(i - k); }
  y_put(i, sum / f32(taken));
}
//)wgsl"
