/*/**/R"wgsl(*/
// state += x, in place.
//#params
const kCount = 4u;
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#raw state
@group(0) @binding(1) var<storage, read_write> state : array<f32>;
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.x;
  if (i < kCount) { state[i] += x_at(i); }
}
//)wgsl"
