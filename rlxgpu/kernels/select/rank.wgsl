/*/**/R"wgsl(*/
// One invocation counts the rows that come before its own: those that are less, and equal ones above it.
//#params
alias Elem = f32;
const kRows = 8u;
const kCols = 3u;
const kRow = 64u;   // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#slot key
fn key(v : f32) -> u32 { return bitcast<u32>(v); }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let row = invocation.y * kRow + invocation.x;
  if (row >= kRows) { return; }
  var before = 0;
  for (var other = 0u; other < kRows; other++) {
    var col = 0u;
    var theirs = 0u;
    var own = 0u;
    // Not a loop with a break: SwiftShader 5.0 gave other ranks for it where Dawn adds no checks (disable_robustness).
    while (theirs == own && col < kCols) {
      theirs = key(x_at(other * kCols + col));
      own = key(x_at(row * kCols + col));
      col++;
    }
    if (theirs < own || (theirs == own && other < row)) { before++; }
  }
  y_put(row, before);
}
//)wgsl"
