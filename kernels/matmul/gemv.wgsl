/*/**/R"wgsl(*/
// A matrix times a few vectors, for adapters that run on a CPU: no barrier, a workgroup of one subgroup. The
// matrix w is b when a has few rows and a when b has few columns; its lines are the columns of b or rows of a.
// Every element of w is used once for each vector, so loading them is what costs: four at a time, either
// along k (a lane owns kEach lines, 8 apart) or across (a lane owns kEach times four neighbouring lines).
// Elements of the vectors are the same for the whole workgroup, hence scalar loads.
// On lavapipe, 4096 x 4096, ms of f32 and f16: so 8.9 and 5.2; lanes along k with a sum over the subgroup at
// the end, 16 lines each, 9.1 and 5.2; 8 lines 9.7 and 5.9.
//#params
const kLines = 64u;
const kVectors = 1u;
const kK = 64u;            // as laid out: the largest number of products in a sum
const kEach = 4u;
const kWOffset = 0u;
const kWLine = 64u;        // between neighbouring lines in w
const kWK = 1u;            // between neighbours along k in w
const kXOffset = 0u;
const kXVector = 64u;      // between neighbouring vectors in x
const kXK = 1u;
const kYLine = 1u;         // in the result
const kYVector = 64u;
// Batch axes, outermost first: extent, and the distance of neighbours in w and in x (0: broadcast).
const kBatch0 = 1u;
const kBatch1 = 1u;
const kBatch2 = 1u;
const kBatch3 = 1u;
const kBatch4 = 1u;
const kBatch5 = 1u;
const kWBatch0 = 0u;
const kWBatch1 = 0u;
const kWBatch2 = 0u;
const kWBatch3 = 0u;
const kWBatch4 = 0u;
const kWBatch5 = 0u;
const kXBatch0 = 0u;
const kXBatch1 = 0u;
const kXBatch2 = 0u;
const kXBatch3 = 0u;
const kXBatch4 = 0u;
const kXBatch5 = 0u;
const kBatches = 1u;
const kSplitK = 64u;       // products of a workgroup, a multiple of four; others add the rest
const kTiles = 2u;
const kGridRow = 2u;       // workgroups in one row of the grid
//#end
//#extents
fn products() -> u32 { return kK; }
//#end
//#slot w_load
alias WWords = f32;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
//#slot x_load
alias XWords = f32;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
//#raw w
@group(0) @binding(0) var<storage, read> w : array<WWords>;
//#end
//#raw x
@group(0) @binding(1) var<storage, read> x : array<XWords>;
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// Four elements of a vector, of which `count` (at least one) exist.
//#slot x_some
fn x_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  v.x = x_load(i);
  if (count > 1u) { v.y = x_load(i + kXK); }
  if (count > 2u) { v.z = x_load(i + 2u * kXK); }
  if (count > 3u) { v.w = x_load(i + 3u * kXK); }
  return v;
}
//#end

// Where the matrices of a batch begin in w and x.
fn batch_at(batch : u32) -> vec2u {
  var rest = batch;
  var at = vec2u(kWOffset, kXOffset);
  at += (rest % kBatch5) * vec2u(kWBatch5, kXBatch5);
  rest /= kBatch5;
  at += (rest % kBatch4) * vec2u(kWBatch4, kXBatch4);
  rest /= kBatch4;
  at += (rest % kBatch3) * vec2u(kWBatch3, kXBatch3);
  rest /= kBatch3;
  at += (rest % kBatch2) * vec2u(kWBatch2, kXBatch2);
  rest /= kBatch2;
  at += (rest % kBatch1) * vec2u(kWBatch1, kXBatch1);
  rest /= kBatch1;
  return at + rest * vec2u(kWBatch0, kXBatch0);
}

// Along k here; gemv.h has the lanes that go across.
//#slot w_some
fn w_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  v.x = w_load(i);
  if (count > 1u) { v.y = w_load(i + kWK); }
  if (count > 2u) { v.z = w_load(i + 2u * kWK); }
  if (count > 3u) { v.w = w_load(i + 3u * kWK); }
  return v;
}
//#end
//#slot lanes
const kTileLines = 8u * kEach;
alias Sum = f32;

fn first_line(group : u32, lane : u32, each : u32) -> u32 { return group * kTileLines + each * 8u + lane; }

// Adds `count` products to the sums of a line with each vector.
fn add(sums : ptr<function, array<Sum, kVectors * kEach>>, line : u32, each : u32, wk : u32, xs : array<vec4f, kVectors>, count : u32) {
  let v4 = w_some(wk + min(line, kLines - 1u) * kWLine, count);
  for (var v = 0u; v < kVectors; v++) {
    let u = xs[v];
    let i = each * kVectors + v;
    sums[i] = fma(u.w, v4.w, fma(u.z, v4.z, fma(u.y, v4.y, fma(u.x, v4.x, sums[i]))));
  }
}

fn put(i : u32, line : u32, sum : Sum) {
  if (line < kLines) { y_put(i + line * kYLine, sum); }
}
//#end
const kLineTiles = (kLines + kTileLines - 1u) / kTileLines;
const_assert kVectors * kEach <= 32u;  // unrolled by drivers up to 32

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let lines = tile % kLineTiles;
  let batch = tile / kLineTiles;  // of all splits
  let at = batch_at(batch % kBatches);
  let first = batch / kBatches * kSplitK;
  let last = min(first + kSplitK, products());
  var sums : array<Sum, kVectors * kEach>;
  var k = first;
  for (; k + 4u <= last; k += 4u) {
    var xs : array<vec4f, kVectors>;
    for (var v = 0u; v < kVectors; v++) { xs[v] = x_some(at.y + v * kXVector + k * kXK, 4u); }
    for (var e = 0u; e < kEach; e++) { add(&sums, first_line(lines, lane, e), e, at.x + k * kWK, xs, 4u); }
  }
  if (k < last) {
    let count = last - k;
    var xs : array<vec4f, kVectors>;
    for (var v = 0u; v < kVectors; v++) { xs[v] = x_some(at.y + v * kXVector + k * kXK, count); }
    for (var e = 0u; e < kEach; e++) { add(&sums, first_line(lines, lane, e), e, at.x + k * kWK, xs, count); }
  }
  for (var e = 0u; e < kEach; e++) {
    for (var v = 0u; v < kVectors; v++) {
      put(batch * kLines * kVectors + v * kYVector, first_line(lines, lane, e), sums[e * kVectors + v]);
    }
  }
}
//)wgsl"
