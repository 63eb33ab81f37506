/*/**/R"wgsl(*/
// One invocation makes one element of the result: the greatest element of x in one cell of a region of whole elements.
//#params
const kCount = 64u;      // elements of the result
const kChannels = 1u;
const kRows = 8u;        // of x
const kCols = 8u;
const kOutRows = 2u;
const kOutCols = 2u;
const kBatch = 1u;
const kScale = 1.0f;     // regions are given in other units
const kRow = 64u;        // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input regions
@group(0) @binding(1) var<storage, read> regions : array<f32>;
fn regions_at(i : u32) -> f32 { return regions[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// Halves away from zero.
fn whole(v : f32) -> i32 { return i32(sign(v) * floor(abs(v) + 0.5f)); }

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let cell = vec2i(i32(i % kOutCols), i32((i / kOutCols) % kOutRows));
  let channel = (i / (kOutCols * kOutRows)) % kChannels;
  let region = 5u * (i / (kOutCols * kOutRows * kChannels));
  let batch = u32(clamp(i32(regions_at(region)), 0, i32(kBatch) - 1));
  let begin = vec2i(whole(regions_at(region + 1u) * kScale), whole(regions_at(region + 2u) * kScale));
  let end = vec2i(whole(regions_at(region + 3u) * kScale), whole(regions_at(region + 4u) * kScale));
  let size = max(end - begin + 1, vec2i(1));
  let cells = vec2i(i32(kOutCols), i32(kOutRows));
  let most = vec2i(i32(kCols), i32(kRows));
  let first = clamp(begin + cell * size / cells, vec2i(), most);
  let last = clamp(begin + ((cell + 1) * size + cells - 1) / cells, vec2i(), most);
  let base = (batch * kChannels + channel) * kRows * kCols;
  var greatest = 0.0f;
  var any = false;
  for (var r = first.y; r < last.y; r++) {
    for (var c = first.x; c < last.x; c++) {
      let v = x_at(base + u32(r) * kCols + u32(c));
      greatest = select(v, max(greatest, v), any);
      any = true;
    }
  }
  y_put(i, greatest);
}
//)wgsl"
