/*/**/R"wgsl(*/
// A workgroup turns the lower triangle of one matrix into its factor, in memory of its own, column by column: the root of the
// diagonal, the column below it divided by that, and every row below has the products of the column taken away, each lane
// in rows of its own. A diagonal that is not a positive number makes the whole matrix NaN; it is judged by its bits, since
// WGSL lets drivers reckon that nothing is NaN.
//#params
const kCount = 1u;       // matrices
const kSize = 4u;        // rows, columns
const kLanes = 8u;
const kGridRow = 1u;     // workgroups in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#raw work
@group(0) @binding(1) var<storage, read_write> work : array<f32>;
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#output flags
@group(0) @binding(3) var<storage, read_write> flags : array<i32>;
fn flags_put(i : u32, v : i32) { flags[i] = v; }
//#end

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let matrix = min(group.y * kGridRow + group.x, kCount - 1u);
  let base = matrix * kSize * kSize;
  for (var i = lane; i < kSize * kSize; i += kLanes) { work[base + i] = x_at(base + i); }
  var first_bad = 0u;  // the same in every lane: the first column without a root, counted from 1
  for (var k = 0u; k < kSize; k++) {
    storageBarrier();
    let diagonal = work[base + k * kSize + k];
    let bits = bitcast<u32>(diagonal);
    if (first_bad == 0u && (bits == 0u || bits >= 0x7f800000u)) { first_bad = k + 1u; }
    let root = sqrt(select(1.0f, diagonal, first_bad == 0u));
    storageBarrier();
    for (var row = k + lane; row < kSize; row += kLanes) {
      let at = base + row * kSize + k;
      work[at] = select(work[at] / root, root, row == k);
    }
    storageBarrier();
    for (var row = k + 1u + lane; row < kSize; row += kLanes) {
      let factor = work[base + row * kSize + k];
      for (var col = k + 1u; col <= row; col++) {
        work[base + row * kSize + col] -= factor * work[base + col * kSize + k];
      }
    }
  }
  storageBarrier();
  for (var i = lane; i < kSize * kSize; i += kLanes) {
    var v = select(0.0f, work[base + i], i % kSize <= i / kSize);
    if (first_bad > 0u) { v = bitcast<f32>(0x7fc00000u | min(first_bad, 1u)); }
    y_put(base + i, v);
  }
  if (lane == 0u) { flags_put(matrix, i32(first_bad)); }
}
//)wgsl"
