/*/**/R"wgsl(*/
// One invocation makes one element of the result: the mean (or the greatest) of places on a grid inside one cell of a region, each
// between four elements of x.
//#params
const kCount = 64u;      // elements of the result
const kChannels = 1u;
const kRows = 8u;        // of x
const kCols = 8u;
const kOutRows = 2u;
const kOutCols = 2u;
const kBatch = 1u;
const kSamples = 0u;     // along each side of a cell; 0: one for each element that a cell covers
const kScale = 1.0f;     // regions are given in other units
const kShift = 0.5f;     // half_pixel
const kMax = false;
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
//#input batches
@group(0) @binding(2) var<storage, read> batches : array<i32>;
fn batches_at(i : u32) -> i32 { return batches[i]; }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let cell = vec2f(f32(i % kOutCols), f32((i / kOutCols) % kOutRows));
  let channel = (i / (kOutCols * kOutRows)) % kChannels;
  let region = i / (kOutCols * kOutRows * kChannels);
  let begin = vec2f(regions_at(4u * region), regions_at(4u * region + 1u)) * kScale - kShift;
  let end = vec2f(regions_at(4u * region + 2u), regions_at(4u * region + 3u)) * kScale - kShift;
  var size = end - begin;
  if (kShift == 0.0f) { size = max(size, vec2f(1.0f)); }
  let each = size / vec2f(f32(kOutCols), f32(kOutRows));
  let counts = select(vec2u(max(ceil(each), vec2f())), vec2u(kSamples), kSamples > 0u);
  let batch = u32(clamp(batches_at(region), 0, i32(kBatch) - 1));
  let base = (batch * kChannels + channel) * kRows * kCols;
  let most = vec2f(f32(kCols), f32(kRows));
  var sum = 0.0f;
  var greatest = 0.0f;
  for (var r = 0u; r < counts.y; r++) {
    for (var c = 0u; c < counts.x; c++) {
      let at = begin + (cell + (vec2f(f32(c), f32(r)) + 0.5f) / vec2f(counts)) * each;
      let inside = all(at >= vec2f(-1.0f)) && all(at <= most);
      let place = clamp(at, vec2f(), most - 1.0f);
      let low = vec2u(floor(place));
      let high = min(low + 1u, vec2u(kCols - 1u, kRows - 1u));
      let part = place - floor(place);
      let a = x_at(base + low.y * kCols + low.x) * ((1.0f - part.y) * (1.0f - part.x));
      let b = x_at(base + low.y * kCols + high.x) * ((1.0f - part.y) * part.x);
      let e = x_at(base + high.y * kCols + low.x) * (part.y * (1.0f - part.x));
      let f = x_at(base + high.y * kCols + high.x) * (part.y * part.x);
      let v = select(0.0f, a + b + e + f, inside);
      let m = select(0.0f, max(max(a, b), max(e, f)), inside);  // ONNX's max is that of the four shares
      greatest = select(max(greatest, m), m, r == 0u && c == 0u);
      sum += v;
    }
  }
  y_put(i, select(sum / max(f32(counts.x * counts.y), 1.0f), greatest, kMax));
}
//)wgsl"
