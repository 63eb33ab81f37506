/*/**/R"wgsl(*/
// One invocation sums the kTaps elements along one axis that an element of the result is made of.
//#params
const kCount = 64u;   // elements of the result
const kIn = 16u;      // along the axis
const kOut = 4u;
const kInner = 1u;    // elements between neighbours along the axis
const kTaps = 9u;
const kRow = 64u;     // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input first
@group(0) @binding(1) var<storage, read> first : array<i32>;
fn first_at(i : u32) -> i32 { return first[i]; }
//#end
//#input weights
@group(0) @binding(2) var<storage, read> weights : array<f32>;
fn weights_at(i : u32) -> f32 { return weights[i]; }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let o = (i / kInner) % kOut;
  let base = (i / (kInner * kOut)) * kIn * kInner + i % kInner;
  let start = first_at(o);
  var sum = 0.0f;
  for (var t = 0u; t < kTaps; t++) {
    let source = u32(clamp(start + i32(t), 0, i32(kIn) - 1));
    sum += weights_at(t * kOut + o) * x_at(base + source * kInner);
  }
  y_put(i, sum);
}
//)wgsl"
