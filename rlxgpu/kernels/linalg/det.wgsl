/*/**/R"wgsl(*/
// A workgroup turns one matrix into a triangle, in memory of its own: for each column the row with the greatest element goes up, and
// every lane clears below it in the columns that it owns (lane, lane + kLanes, ...). The determinant is the product of the diagonal.
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

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let matrix = min(group.y * kGridRow + group.x, kCount - 1u);
  let base = matrix * kSize * kSize;
  for (var i = lane; i < kSize * kSize; i += kLanes) { work[base + i] = x_at(base + i); }
  var product = 1.0f;
  for (var k = 0u; k < kSize; k++) {
    storageBarrier();
    var pivot = k;  // every lane finds the same one
    for (var row = k + 1u; row < kSize; row++) {
      if (abs(work[base + row * kSize + k]) > abs(work[base + pivot * kSize + k])) { pivot = row; }
    }
    let diagonal = work[base + pivot * kSize + k];
    product *= select(-diagonal, diagonal, pivot == k);
    storageBarrier();
    for (var col = lane; col < kSize; col += kLanes) {
      let up = work[base + pivot * kSize + col];
      work[base + pivot * kSize + col] = work[base + k * kSize + col];
      work[base + k * kSize + col] = up;
    }
    storageBarrier();
    for (var col = lane; col < kSize; col += kLanes) {
      if (col > k && diagonal != 0.0f) {
        let up = work[base + k * kSize + col];
        for (var row = k + 1u; row < kSize; row++) {
          work[base + row * kSize + col] -= work[base + row * kSize + k] / diagonal * up;
        }
      }
    }
  }
  if (lane == 0u) { y_put(matrix, product); }
}
//)wgsl"
