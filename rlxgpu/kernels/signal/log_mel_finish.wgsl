/*/**/R"wgsl(*/
// Nothing below the greatest of its clip less 8; then (v + 4) / 4. kGroups numbers hold the greatest of a clip's parts.
//#params
const kCount = 80u;   // numbers in a clip
const kAll = 80u;     // and in all clips
const kGroups = 1u;
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#raw greatest
@group(0) @binding(1) var<storage, read> greatest : array<f32>;
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
const kEach = 16u;

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(num_workgroups) groups : vec3u, @builtin(local_invocation_index) id : u32) {
  let start = (group.y * groups.x + group.x) * 64u * kEach + id;
  var known = kAll;  // the clip whose greatest is in `most`
  var most = 0.0f;
  for (var e = 0u; e < kEach; e++) {
    let i = start + e * 64u;
    if (i >= kAll) { break; }
    let clip = i / kCount;
    if (clip != known) {
      most = greatest[clip * kGroups];
      for (var g = 1u; g < kGroups; g++) { most = max(most, greatest[clip * kGroups + g]); }
      known = clip;
    }
    y_put(i, (max(x_at(i), most - 8.0f) + 4.0f) * 0.25f);
  }
}
//)wgsl"
