/*/**/R"wgsl(*/
// Adds up the parts of sums that several workgroups shared, always in the same order.
//#params
alias Result = f32;
const kCount = 4096u;      // elements of the result
const kSplits = 4u;
const kRow = 4096u;        // invocations in one row of the grid
//#end
//#raw parts
@group(0) @binding(0) var<storage, read> parts : array<f32, kCount * kSplits>;
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  var sum = Result(parts[i]);
  for (var split = 1u; split < kSplits; split++) { sum += Result(parts[split * kCount + i]); }
  y_put(i, sum);
}
//)wgsl"
