/*/**/R"wgsl(*/
// Puts together what several workgroups of streaming.wgsl found for the same row: each has sums of values, its greatest score
// and its denominator. One invocation for each column of a row.
//#params
const kCount = 4096u;      // elements of the result
const kVSize = 64u;
const kSplits = 4u;
const kRow = 4096u;        // invocations in one row of the grid
//#end
const kRows = kCount / kVSize;
//#raw parts
@group(0) @binding(0) var<storage, read> parts : array<f32>;
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#slot decay
fn decay(d : f32) -> f32 { return exp(d); }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let row = i / kVSize;
  var most = parts[row * (kVSize + 2u) + kVSize];
  for (var split = 1u; split < kSplits; split++) { most = max(most, parts[(split * kRows + row) * (kVSize + 2u) + kVSize]); }
  var sum = 0.0f;
  var under = 0.0f;
  for (var split = 0u; split < kSplits; split++) {
    let at = (split * kRows + row) * (kVSize + 2u);
    let weight = decay(parts[at + kVSize] - most);
    sum += weight * parts[at + i % kVSize];
    under += weight * parts[at + kVSize + 1u];
  }
  y_put(i, sum / select(under, 1.0f, under == 0.0f));
}
//)wgsl"
