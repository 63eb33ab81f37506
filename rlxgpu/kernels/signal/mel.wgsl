/*/**/R"wgsl(*/
// Bands of a power spectrum, each a sum over few bins, one invocation a band of a piece; with LOG their logarithms, and
// the greatest of them in each workgroup, of which a clip has kGroups.
// table: for each band its first bin and how many there are, then the weights of all bins, band by band.
//#params
const kCount = 80u;     // bands in a clip: pieces * kMels
const kBins = 201u;
const kMels = 80u;
const kEach = 16u;      // bands for each invocation
const kLanes = 64u;
const kGroups = 1u;
const kAll = 1u;        // workgroups of all clips
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#raw table
@group(0) @binding(2) var<storage, read> table : array<u32>;
//#end
//#if LOG
//#raw greatest
@group(0) @binding(3) var<storage, read_write> greatest : array<f32>;
//#end
var<workgroup> partial : array<f32, kLanes>;
//#end

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group_id : vec3u, @builtin(num_workgroups) groups : vec3u, @builtin(local_invocation_index) id : u32) {
  let group = min(group_id.y * groups.x + group_id.x, kAll - 1u);
  let clip = group / kGroups;
  var most = -0x1.fffffep+127f;
  for (var e = 0u; e < kEach; e++) {
    let i = ((group % kGroups) * kEach + e) * kLanes + id;
    if (i < kCount) {
      let band = i % kMels;
      let first = table[2u * band];
      let last = first + table[2u * band + 1u];
      let row = (clip * (kCount / kMels) + i / kMels) * kBins;
      var sum = 0.0f;
      for (var bin = first; bin < last; bin++) { sum += x_at(row + bin) * bitcast<f32>(table[2u * kMels + band * kBins + bin]); }
//#if LOG
      sum = log(max(sum, 1e-10f)) * 0.4342944819f;
      most = max(most, sum);
//#end
      y_put(clip * kCount + i, sum);
    }
  }
//#if LOG
  partial[id] = most;
  for (var half = kLanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (id < half) { partial[id] = max(partial[id], partial[id + half]); }
  }
  if (id == 0u) { greatest[group] = partial[0]; }
//#end
}
//)wgsl"
