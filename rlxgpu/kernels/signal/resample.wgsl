/*/**/R"wgsl(*/
// Sample t of the result is at t * kDown / kUp of x: a sum over the samples within the filter's reach, one invocation a
// sample. filter: kHalf + 1 + kHalf weights, kUp of them to one sample of x.
//#params
const kRows = 1u;
const kSamples = 16u;
const kResults = 16u;
const kUp = 1u;
const kDown = 1u;
const kHalf = 10u;
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#raw weights
@group(0) @binding(2) var<storage, read> weights : array<f32>;
//#end

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u, @builtin(local_invocation_index) id : u32) {
  let i = (group.y * groups.x + group.x) * 64u + id;
  if (i >= kRows * kResults) { return; }
  let at = (i % kResults) * kDown + kHalf;  // where the filter's end lies, in steps of 1 / kUp
  let row = (i / kResults) * kSamples;
  let last = min(at / kUp, kSamples - 1u);
  var sum = 0.0f;
  for (var k = (max(at, 2u * kHalf) - 2u * kHalf + kUp - 1u) / kUp; k <= last; k++) { sum += x_at(row + k) * weights[at - k * kUp]; }
  y_put(i, sum);
}
//)wgsl"
