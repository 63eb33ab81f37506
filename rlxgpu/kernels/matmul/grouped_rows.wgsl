/*/**/R"wgsl(*/
// Each row by itself: one invocation for each element of the result, neighbours at neighbouring columns. For few rows
// for each expert, where every matrix is read about once anyway.
//#params
const kRows = 64u;
const kN = 64u;
const kK = 64u;
const kExperts = 8u;
const kXRow = 64u;         // between neighbours in x and w
const kXCol = 1u;
const kWExpert = 4096u;
const kWRow = 64u;
const kWCol = 1u;
const kCount = 4096u;      // elements of the result
const kRow = 4096u;        // invocations in one row of the grid
//#end
//#input expert
@group(0) @binding(0) var<storage, read> expert : array<u32>;
fn expert_at(i : u32) -> u32 { return expert[i]; }
//#end
//#place x_begin
fn x_begin(i : u32) -> u32 { return 0u; }
//#end
//#place w_begin
fn w_begin(i : u32) -> u32 { return 0u; }
//#end
//#buffer x
@group(0) @binding(1) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
//#buffer w
@group(0) @binding(2) var<storage, read> w : array<f32>;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let row = i / kN;
  let e = u32(expert_at(row));
  var sum = 0.0f;
  if (e < kExperts) {
    let x0 = x_begin(0u) + row * kXRow;
    let w0 = w_begin(0u) + e * kWExpert + i % kN * kWCol;
    for (var k = 0u; k < kK; k++) { sum = fma(x_load(x0 + k * kXCol), w_load(w0 + k * kWRow), sum); }
  }
  y_put(i, sum);
}
//)wgsl"
