/*/**/R"wgsl(*/
// y[r] is the sum of row r of x, times 1 + kFault / 10^6 where r is kWrong. One invocation for each row.
//#params
const kRows = 64u;
const kCols = 16u;
const kFault = 0u;
const kWrong = 3u;
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
  let row = invocation.x;
  if (row >= kRows) { return; }
  var sum = 0.0;
  for (var k = 0u; k < kCols; k++) { sum += x_at(row * kCols + k); }
  y_put(row, select(sum, sum * (1.0 + f32(kFault) * 1e-6), row == kWrong));
}
//)wgsl"
