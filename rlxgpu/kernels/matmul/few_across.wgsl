/*/**/R"wgsl(*/
// A matrix times a few vectors, for GPUs: neighbours in memory belong to different lines of the matrix (b as [k, n]).
// All the work is to load the matrix once, so nothing of it passes through workgroup memory.
//
//          lines ->  side 0 | side 1 | ...       An invocation has kStep neighbouring lines, kSide invocations lie side by
//        +-----------------------------+         side, and kSlices of them one below the other: slice 0 takes the first
//      k |   slice 0: 4 of k           |         four of k, slice 1 the next, and so on in turns. kUnroll such turns are in
//      | |   slice 1                   |         flight at a time. In the end the slices are added up, by halving.
//      v |   ...                       |
//        +-----------------------------+         Where the grid does not fill the GPU, groups share k, too (kSplitK).
//#params
const kLines = 64u;
const kVectors = 1u;
const kK = 64u;
const kStep = 4u;          // lines of an invocation: 4, or 8 with 16-bit elements
const kSide = 4u;
const kSlices = 16u;
const kUnroll = 2u;
const kWK = 64u;           // between neighbours along k in w
const kXVector = 64u;      // between neighbouring vectors in x
const kYLine = 1u;         // in the result
const kYVector = 64u;
const kBatches = 1u;
const kSplitK = 64u;       // products of a workgroup, a multiple of 4; others add the rest
const kTiles = 4u;
const kGridRow = 4u;       // workgroups in one row of the grid
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
//#buffer x
@group(0) @binding(1) var<storage, read> x : array<vec4f>;
fn x_vector4(i : u32) -> vec4f { return x[i]; }
//#end
const kFours = kStep / 4u;
const kWV = kWK / kStep;
const kXV = kXVector / 4u;
const kLanes = kSide * kSlices;
const kLineTiles = (kLines + kSide * kStep - 1u) / (kSide * kStep);
const kTurn = 4u * kSlices;  // of k
alias Sums = array<vec4f, kVectors * kFours>;
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
const_assert kSlices >= 4u;   // an invocation for each element in the end

// Adds the products of four of k. w0, x0: places in w and x, counted in vectors of kStep and of four: from places in
// elements drivers would make addresses with two instructions more for each load (navi31: 178 for 64 weights, and 137 so).
//#if EIGHT
/*
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4u>;
fn w_vector8(i : u32) -> mat2x4f { return mat2x4f(); }
//#end
fn add(sums : ptr<function, Sums>, w0 : u32, x0 : u32) {
  let a = w_vector8(w0);
  let b = w_vector8(w0 + kWV);
  let c = w_vector8(w0 + 2u * kWV);
  let d = w_vector8(w0 + 3u * kWV);
  for (var v = 0u; v < kVectors; v++) {
    let t = x_vector4(x0 + v * kXV);
    for (var half = 0u; half < 2u; half++) {
      let sum = fma(vec4f(t.y), b[half], fma(vec4f(t.x), a[half], (*sums)[2u * v + half]));
      (*sums)[2u * v + half] = fma(vec4f(t.w), d[half], fma(vec4f(t.z), c[half], sum));
    }
  }
}
*/
//#else
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4f>;
fn w_vector4(i : u32) -> vec4f { return w[i]; }
//#end
fn add(sums : ptr<function, Sums>, w0 : u32, x0 : u32) {
  let a = w_vector4(w0);
  let b = w_vector4(w0 + kWV);
  let c = w_vector4(w0 + 2u * kWV);
  let d = w_vector4(w0 + 3u * kWV);
  for (var v = 0u; v < kVectors; v++) {
    let t = x_vector4(x0 + v * kXV);
    let sum = fma(vec4f(t.y), b, fma(vec4f(t.x), a, (*sums)[v]));
    (*sums)[v] = fma(vec4f(t.w), d, fma(vec4f(t.z), c, sum));
  }
}
//#end

var<workgroup> parts : array<vec4f, kLanes>;

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / kLineTiles;   // of all splits
  let first = batch / kBatches * kSplitK;
  let last = min(first + kSplitK, kK);
  let line = tile % kLineTiles * kSide * kStep + lane % kSide * kStep;
  let k = first + lane / kSide * 4u;
  var w0 = (w_begin(batch % kBatches) + min(line, kLines - kStep)) / kStep + k * kWV;
  var x0 = (x_begin(batch % kBatches) + k) / 4u;
  var sums : Sums;
  // As often as all slices have kUnroll turns, so that all leave the loop together; then what is left.
  let whole = (last - first) / (kUnroll * kTurn);
  for (var i = 0u; i < whole; i++) {
    for (var u = 0u; u < kUnroll; u++) { add(&sums, w0 + u * kTurn * kWV, x0 + u * kSlices); }
    w0 += kUnroll * kTurn * kWV;
    x0 += kUnroll * kSlices;
  }
  if (kK % kSplitK != 0u || kSplitK % (kUnroll * kTurn) != 0u) {
    for (var left = k + whole * kUnroll * kTurn; left < last; left += kTurn) {
      add(&sums, w0, x0);
      w0 += kTurn * kWV;
      x0 += kSlices;
    }
  }
  for (var i = 0u; i < kVectors * kFours; i++) {
    parts[lane] = sums[i];
    for (var half = kSlices / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();
      if (lane < half * kSide) { parts[lane] += parts[lane + half * kSide]; }
    }
    workgroupBarrier();
    if (lane < 4u * kSide) {  // one element each
      let at = tile % kLineTiles * kSide * kStep + lane / 4u * kStep + i % kFours * 4u + lane % 4u;
      if (at < kLines) {
        y_put((batch * kLines * kVectors + i / kFours * kYVector) + at * kYLine, parts[lane / 4u][lane % 4u]);
      }
    }
    workgroupBarrier();  // what was added up has been read
  }
}
//)wgsl"
