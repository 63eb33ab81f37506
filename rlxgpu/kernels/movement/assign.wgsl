/*/**/R"wgsl(*/
// Copies x into a state, one element for each invocation.
//#params
alias Elem = f32;
const kCount = 64u;
const kRow = 64u;   // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output state
@group(0) @binding(1) var<storage, read_write> state : array<f32>;
fn state_put(i : u32, v : f32) { state[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i < kCount) { state_put(i, x_at(i)); }
}
//)wgsl"
