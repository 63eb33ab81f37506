/*/**/R"wgsl(*/
// A matrix times a few vectors, all contiguous along k, for adapters that run on a CPU and have subgroups of 8 or more:
// a workgroup is one subgroup, and its lanes share each line, four neighbouring elements a lane (16-bit elements: eight,
// if possible). So a line is read from one end to the other, and one load of a vector serves kEach lines.
// On lavapipe, 4096 x 4096 in f32: 8 lines and two loads of each in a trip 2.7 ms, one load 3.3; 4 lines and two loads 3.4;
// 16 lines 3.3; a lane for each line (gemv.wgsl) 4.7.
enable subgroups;
//#params
const kLines = 64u;
const kVectors = 1u;
const kK = 64u;
const kEach = 8u;          // lines of a workgroup
const kStep = 4u;          // products at a time: 4 or 8
const kWLine = 64u;        // between neighbouring lines in w
const kXVector = 64u;      // between neighbouring vectors in x
const kYLine = 1u;         // in the result
const kYVector = 64u;
const kBatches = 1u;
const kSplitK = 64u;       // products of a workgroup, a multiple of kStep; others add the rest
const kTiles = 8u;
const kGridRow = 8u;       // workgroups in one row of the grid
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
fn x_load4(i : u32) -> vec4f { return x[i / 4u]; }
//#end
const kFours = kStep / 4u;
alias Sums = array<vec4f, kVectors * kEach>;
alias Vectors = array<vec4f, kVectors * kFours>;

// Adds the products of one line with each vector.
//#if EIGHT
/*
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4u>;
fn w_load8(i : u32) -> mat2x4f { return mat2x4f(); }
//#end
fn add(sums : ptr<function, Sums>, each : u32, at : u32, xs : Vectors) {
  let w8 = w_load8(at);
  for (var v = 0u; v < kVectors; v++) { sums[each * kVectors + v] += xs[2u * v] * w8[0] + xs[2u * v + 1u] * w8[1]; }
}
*/
//#else
//#buffer w
@group(0) @binding(0) var<storage, read> w : array<vec4f>;
fn w_load4(i : u32) -> vec4f { return w[i / 4u]; }
//#end
fn add(sums : ptr<function, Sums>, each : u32, at : u32, xs : Vectors) {
  let w4 = w_load4(at);
  for (var v = 0u; v < kVectors; v++) { sums[each * kVectors + v] += xs[v] * w4; }
}
//#end

fn add_lines(sums : ptr<function, Sums>, first_line : u32, w0 : u32, x0 : u32) {
  var xs : Vectors;
  for (var v = 0u; v < kVectors * kFours; v++) { xs[v] = x_load4(x0 + v / kFours * kXVector + v % kFours * 4u); }
  for (var e = 0u; e < kEach; e++) { add(sums, e, w0 + min(first_line + e, kLines - 1u) * kWLine, xs); }
}

const kLineTiles = (kLines + kEach - 1u) / kEach;
const kLoad = 8u * kStep;  // products of all lanes
const_assert kVectors * kEach <= 32u;  // unrolled by drivers up to 32

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let first_line = tile % kLineTiles * kEach;
  let batch = tile / kLineTiles;  // of all splits
  let first = batch / kBatches * kSplitK;
  let last = min(first + kSplitK, kK);
  let w0 = w_begin(batch % kBatches);
  let x0 = x_begin(batch % kBatches);
  var sums : Sums;
  var k = first + lane * kStep;  // of the lane: lanes leave the last loop one by one
  for (var trip = (last - first) / (2u * kLoad); trip > 0u; trip--) {
    add_lines(&sums, first_line, w0 + k, x0 + k);
    add_lines(&sums, first_line, w0 + k + kLoad, x0 + k + kLoad);
    k += 2u * kLoad;
  }
  for (; k < last; k += kLoad) { add_lines(&sums, first_line, w0 + k, x0 + k); }
  for (var e = 0u; e < kEach; e++) {
    for (var v = 0u; v < kVectors; v++) {
      let fours = sums[e * kVectors + v];
      let sum = subgroupAdd((fours.x + fours.y) + (fours.z + fours.w));
      let line = first_line + e;
      if (lane == 0u && line < kLines) { y_put((batch * kLines * kVectors + v * kYVector) + line * kYLine, sum); }
    }
  }
}
//)wgsl"
