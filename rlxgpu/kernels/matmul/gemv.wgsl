/*/**/R"wgsl(*/
// A matrix times a few vectors, for adapters that run on a CPU: no barrier, a workgroup of one subgroup. The
// matrix w is b when a has few rows and a when b has few columns; its lines are the columns of b or rows of a.
// Every element of w is used once for each vector, so loading them is what costs: four at a time, either along k (a
// lane owns kEach lines, 8 apart; 16-bit elements are loaded eight at a time, if possible) or across (a lane owns
// kEach times four neighbouring lines).
// Elements of the vectors are the same for the whole workgroup, hence scalar loads.
// On lavapipe, 4096 x 4096, ms of f32 and f16: so 8.9 and 5.2; lanes along k with a sum over the subgroup at
// the end, 16 lines each, 9.1 and 5.2; 8 lines 9.7 and 5.9. Eight elements of f16 at a time take 0.86 of the time of four.
//#params
const kLines = 64u;
const kVectors = 1u;
const kK = 64u;            // as laid out: the largest number of products in a sum
const kEach = 4u;
const kStep = 4u;          // products at a time: 4 or 8
const kWLine = 64u;        // between neighbouring lines in w
const kWK = 1u;            // between neighbours along k in w
const kXVector = 64u;      // between neighbouring vectors in x
const kXK = 1u;
const kYLine = 1u;         // in the result
const kYVector = 64u;
const kBatches = 1u;
const kSplitK = 64u;       // products of a workgroup, a multiple of kStep; others add the rest
const kTiles = 2u;
const kGridRow = 2u;       // workgroups in one row of the grid
//#end
//#extents
fn products() -> u32 { return kK; }
//#end
//#place w_begin
fn w_begin(batch : u32) -> u32 { return batch * kLines * kK; }  // where its matrix begins in w
//#end
//#place x_begin
fn x_begin(batch : u32) -> u32 { return batch * kVectors * kK; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// Four elements of a vector, of which `count` (at least one) exist.
//#if X_WIDE
/*
//#buffer x
@group(0) @binding(1) var<storage, read> x : array<vec4f>;
fn x_load4(i : u32) -> vec4f { return x[i / 4u]; }
//#end
fn x_some(i : u32, count : u32) -> vec4f { return x_load4(i); }
*/
//#else
//#buffer x
@group(0) @binding(1) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
fn x_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  v.x = x_load(i);
  if (count > 1u) { v.y = x_load(i + kXK); }
  if (count > 2u) { v.z = x_load(i + 2u * kXK); }
  if (count > 3u) { v.w = x_load(i + 3u * kXK); }
  return v;
}
//#end
const kFours = kStep / 4u;
alias Vectors = array<vec4f, kVectors * kFours>;

//#if ACROSS
/*
const kTileLines = 32u * kEach;
alias Sum = vec4f;
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4f>;
fn w_load4(i : u32) -> vec4f { return w[i / 4u]; }
//#end

fn first_line(group : u32, lane : u32, each : u32) -> u32 { return group * kTileLines + (each * 8u + lane) * 4u; }

// Adds `count` products to the sums of four lines with each vector.
fn add(sums : ptr<function, array<Sum, kVectors * kEach>>, line : u32, each : u32, wk : u32, xs : Vectors, count : u32) {
  let at = wk + min(line, kLines - 4u) * kWLine;
  let w0 = w_load4(at);
  var w1 : vec4f;
  var w2 : vec4f;
  var w3 : vec4f;
  if (count > 1u) { w1 = w_load4(at + kWK); }
  if (count > 2u) { w2 = w_load4(at + 2u * kWK); }
  if (count > 3u) { w3 = w_load4(at + 3u * kWK); }
  for (var v = 0u; v < kVectors; v++) {
    let u = xs[v];
    let i = each * kVectors + v;
    sums[i] = fma(vec4f(u.w), w3, fma(vec4f(u.z), w2, fma(vec4f(u.y), w1, fma(vec4f(u.x), w0, sums[i]))));
  }
}

fn put(i : u32, line : u32, sum : Sum) {
  if (line >= kLines) { return; }
  for (var c = 0u; c < 4u; c++) { y_put(i + (line + c) * kYLine, sum[c]); }
}
*/
//#else
const kTileLines = 8u * kEach;
alias Sum = f32;

fn first_line(group : u32, lane : u32, each : u32) -> u32 { return group * kTileLines + each * 8u + lane; }
fn four(u : vec4f, w : vec4f, sum : f32) -> f32 { return fma(u.w, w.w, fma(u.z, w.z, fma(u.y, w.y, fma(u.x, w.x, sum)))); }

// Adds `count` products to the sums of a line with each vector.
//#if EIGHT
/*
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4u>;
fn w_load8(i : u32) -> mat2x4f { return mat2x4f(); }
//#end
fn add(sums : ptr<function, array<Sum, kVectors * kEach>>, line : u32, each : u32, wk : u32, xs : Vectors, count : u32) {
  let w8 = w_load8(wk + min(line, kLines - 1u) * kWLine);
  for (var v = 0u; v < kVectors; v++) {
    let i = each * kVectors + v;
    sums[i] = four(xs[2u * v + 1u], w8[1], four(xs[2u * v], w8[0], sums[i]));
  }
}
*/
//#else
//#if W_WIDE
/*
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4f>;
fn w_load4(i : u32) -> vec4f { return w[i / 4u]; }
//#end
fn w_some(i : u32, count : u32) -> vec4f { return w_load4(i); }
*/
//#else
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<f32>;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
fn w_some(i : u32, count : u32) -> vec4f {
  var v : vec4f;
  v.x = w_load(i);
  if (count > 1u) { v.y = w_load(i + kWK); }
  if (count > 2u) { v.z = w_load(i + 2u * kWK); }
  if (count > 3u) { v.w = w_load(i + 3u * kWK); }
  return v;
}
//#end
fn add(sums : ptr<function, array<Sum, kVectors * kEach>>, line : u32, each : u32, wk : u32, xs : Vectors, count : u32) {
  let w4 = w_some(wk + min(line, kLines - 1u) * kWLine, count);
  for (var v = 0u; v < kVectors; v++) {
    let i = each * kVectors + v;
    sums[i] = four(xs[v], w4, sums[i]);
  }
}
//#end

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
  let w0 = w_begin(batch % kBatches);
  let x0 = x_begin(batch % kBatches);
  let first = batch / kBatches * kSplitK;
  let last = min(first + kSplitK, products());
  var sums : array<Sum, kVectors * kEach>;
  var k = first;
  for (; k + kStep <= last; k += kStep) {
    var xs : Vectors;  // all of it is written before it is read
    for (var v = 0u; v < kVectors * kFours; v++) {
      xs[v] = x_some(x0 + v / kFours * kXVector + (k + v % kFours * 4u) * kXK, 4u);
    }
    for (var e = 0u; e < kEach; e++) { add(&sums, first_line(lines, lane, e), e, w0 + k * kWK, xs, kStep); }
  }
  if (k < last) {  // not with eight at a time
    let count = last - k;
    var xs : Vectors;
    for (var v = 0u; v < kVectors; v++) { xs[v] = x_some(x0 + v * kXVector + k * kXK, count); }
    for (var e = 0u; e < kEach; e++) { add(&sums, first_line(lines, lane, e), e, w0 + k * kWK, xs, count); }
  }
  for (var e = 0u; e < kEach; e++) {
    for (var v = 0u; v < kVectors; v++) {
      put(batch * kLines * kVectors + v * kYVector, first_line(lines, lane, e), sums[e * kVectors + v]);
    }
  }
}
//)wgsl"
