/*/**/R"wgsl(*/
// Copies x into a cache, from a run-time position on, one element for each invocation. What would lie beyond the end of the
// cache is dropped.
//#params
alias Elem = f32;
const kCount = 256u;       // elements of x, as laid out
const kSteps = 4u;         // of x along the axis, as laid out
const kLength = 64u;       // of the cache along the axis
const kInner = 64u;        // elements behind each step
const kEach = 256u;        // elements of x for each position
const kRow = 256u;         // invocations in one row of the grid
//#end
//#extents
fn steps() -> u32 { return kSteps; }
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input position
@group(0) @binding(1) var<storage, read> position : array<u32>;
fn position_at(i : u32) -> u32 { return position[i]; }
//#end
//#output cache
@group(0) @binding(2) var<storage, read_write> cache : array<f32>;
fn cache_put(i : u32, v : f32) { cache[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let step = i / kInner % kSteps;
  let place = u32(position_at(i / kEach)) + step;
  if (step >= steps() || place >= kLength) { return; }
  cache_put((i / (kInner * kSteps) * kLength + place) * kInner + i % kInner, x_at(i));
}
//)wgsl"
