/*/**/R"wgsl(*/
// A matrix times a few vectors, for GPUs: each line of the matrix is contiguous (b as [n, k]). Like few_across.wgsl, but
// kSlices invocations share a line and read it side by side, kStep neighbours each; an invocation has kEach lines, for
// which it reads the vectors once, and kSide such bundles make a workgroup.
//#params
const kLines = 64u;
const kVectors = 1u;
const kK = 64u;
const kStep = 4u;          // products at a time: 4, or 8 with 16-bit elements
const kEach = 4u;          // at most 4
const kSide = 4u;
const kSlices = 16u;
const kUnroll = 2u;
const kWLine = 64u;        // between neighbouring lines in w
const kXVector = 64u;      // between neighbouring vectors in x
const kYLine = 1u;         // in the result
const kYVector = 64u;
const kBatches = 1u;
const kSplitK = 64u;       // products of a workgroup, a multiple of kStep; others add the rest
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
const kWV = kWLine / kStep;
const kXV = kXVector / 4u;
const kLanes = kSide * kSlices;
const kBundle = kSide * kEach;
const kLineTiles = (kLines + kBundle - 1u) / kBundle;
const kTurn = kStep * kSlices;  // of k
alias Sums = array<vec4f, kVectors * kEach>;
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
const_assert kEach <= 4u && kSlices >= 4u;

// Adds kStep products of each line with each vector. w0, x0: places in w and x, counted in vectors of kStep and of four.
//#if EIGHT
/*
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4u>;
fn w_vector8(i : u32) -> mat2x4f { return mat2x4f(); }
//#end
fn add(sums : ptr<function, Sums>, w0 : u32, x0 : u32) {
  for (var e = 0u; e < kEach; e++) {
    let t = w_vector8(w0 + e * kWV);
    for (var v = 0u; v < kVectors; v++) {
      let at = x0 + v * kXV;
      (*sums)[v * kEach + e] = fma(x_vector4(at + 1u), t[1], fma(x_vector4(at), t[0], (*sums)[v * kEach + e]));
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
  for (var e = 0u; e < kEach; e++) {
    let t = w_vector4(w0 + e * kWV);
    for (var v = 0u; v < kVectors; v++) {
      (*sums)[v * kEach + e] = fma(x_vector4(x0 + v * kXV), t, (*sums)[v * kEach + e]);
    }
  }
}
//#end

var<workgroup> parts : array<vec4f, kLanes>;  // of the kEach lines

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }  // the same for the whole workgroup
  let batch = tile / kLineTiles;   // of all splits
  let first = batch / kBatches * kSplitK;
  let last = min(first + kSplitK, kK);
  // Lines beyond the end: the last ones again, and what belongs to the bundle before is not stored twice.
  let wanted = tile % kLineTiles * kBundle + lane / kSlices * kEach;
  let line = min(wanted, kLines - kEach);
  let k = first + lane % kSlices * kStep;
  var w0 = (w_begin(batch % kBatches) + k) / kStep + line * kWV;
  var x0 = (x_begin(batch % kBatches) + k) / 4u;
  var sums : Sums;
  // As often as all slices have kUnroll turns, so that all leave the loop together; then what is left.
  let whole = (last - first) / (kUnroll * kTurn);
  for (var i = 0u; i < whole; i++) {
    for (var u = 0u; u < kUnroll; u++) { add(&sums, w0 + u * kSlices, x0 + u * kSlices * kFours); }
    w0 += kUnroll * kSlices;
    x0 += kUnroll * kSlices * kFours;
  }
  if (kK % kSplitK != 0u || kSplitK % (kUnroll * kTurn) != 0u) {
    for (var left = k + whole * kUnroll * kTurn; left < last; left += kTurn) {
      add(&sums, w0, x0);
      w0 += kSlices;
      x0 += kSlices * kFours;
    }
  }
  for (var v = 0u; v < kVectors; v++) {
    var folded = vec4f();  // a value: drivers may keep that of the turn before
    for (var e = 0u; e < kEach; e++) {
      let sum = sums[v * kEach + e];
      folded[e] = (sum.x + sum.y) + (sum.z + sum.w);
    }
    parts[lane] = folded;
    for (var half = kSlices / 2u; half > 0u; half /= 2u) {
      workgroupBarrier();
      if (lane % kSlices < half) { parts[lane] += parts[lane + half]; }
    }
    workgroupBarrier();
    if (lane % kSlices < kEach) {  // one element each
      let at = line + lane % kSlices;
      if (at >= wanted && at < kLines) {
        y_put((batch * kLines * kVectors + v * kYVector) + at * kYLine, parts[lane / kSlices * kSlices][lane % kSlices]);
      }
    }
    workgroupBarrier();  // what was added up has been read
  }
}
//)wgsl"
