/*/**/R"wgsl(*/
// What sequences remember before the first step, or after the last.
//#params
const kCount = 64u;
const kRow = 64u;   // invocations in one row of the grid
//#end
//#if GIVEN
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  var v = 0.0f;
//#if GIVEN
  v = x_at(i);
//#end
  y_put(i, v);
}
//)wgsl"
