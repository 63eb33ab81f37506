/*/**/R"wgsl(*/
// A norm, a product and an activation in one: y = act((norm(x) . w) + bias), or act(norm(x) . w) * (norm(x) . u) if kGated. A workgroup
// owns kRowsEach rows and kLanes columns, one column for each invocation, and finds its rows' mean and variance by itself:
//
//   pass over x   1: means   2: sums of differences and squares (rows.wgsl says why both)   3: products
//
// A row's factor is taken out of the sums: (x - mean) w is added up and multiplied in the end. With kKept the workgroups of the
// first columns store the normalised rows, too. Elements of x are the same for the whole workgroup; a weight is used kRowsEach times.
//#params
const kM = 64u;
const kN = 64u;
const kK = 64u;
const kWK = 64u;           // between neighbours along k in w
const kWN = 1u;
const kUK = 64u;           // in u
const kUN = 1u;
const kCentred = true;
const kGated = false;
const kKept = false;
const kEpsilon = 1e-5f;
const kRowsEach = 8u;
const kLanes = 64u;
const kTiles = 8u;
const kGridRow = 8u;       // workgroups in one row of the grid
//#end
const kTilesN = (kN + kLanes - 1u) / kLanes;
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#place w_begin
fn w_begin(i : u32) -> u32 { return i; }
//#end
//#buffer w
@group(0) @binding(1) var<storage, read> w : array<f32>;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
//#if GATED
//#place u_begin
fn u_begin(i : u32) -> u32 { return i; }
//#end
//#buffer u
@group(0) @binding(2) var<storage, read> u : array<f32>;
fn u_load(i : u32) -> f32 { return u[i]; }
//#end
//#end
/*)wgsl"
#include "rlxgpu/kernels/norm/normed_linear.part.wgsl"
R"wgsl(*/
//#slot up_of
fn up_of(k : u32, n : u32) -> f32 { return u_load(u_begin(0u) + k * kUK + n * kUN); }
//#end

var<workgroup> partial : array<vec2f, kRowsEach * kLanes>;
var<workgroup> found : array<vec3f, kRowsEach>;  // mean, what rounding left of it, factor

// The sum over the lanes of what they have in `partial`, for row r.
fn total(r : u32) -> vec2f {
  var sum = vec2f();
  for (var i = 0u; i < kLanes; i++) { sum += partial[r * kLanes + i]; }
  return sum;
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let m0 = tile / kTilesN * kRowsEach;
  let n = tile % kTilesN * kLanes + lane;

  for (var r = 0u; r < kRowsEach; r++) {
    var sum = 0.0f;
    if (kCentred) {
      let row = min(m0 + r, kM - 1u) * kK;
      for (var k = lane; k < kK; k += kLanes) { sum += x_at(row + k); }
    }
    partial[r * kLanes + lane] = vec2f(sum, 0.0f);
  }
  workgroupBarrier();
  for (var r = lane; r < kRowsEach; r += kLanes) { found[r] = vec3f(total(r).x / f32(kK), 0.0f, 0.0f); }
  workgroupBarrier();
  for (var r = 0u; r < kRowsEach; r++) {
    let row = min(m0 + r, kM - 1u) * kK;
    var sums = vec2f();
    for (var k = lane; k < kK; k += kLanes) {
      let d = x_at(row + k) - found[r].x;
      sums += vec2f(d, d * d);
    }
    partial[r * kLanes + lane] = sums;
  }
  workgroupBarrier();
  for (var r = lane; r < kRowsEach; r += kLanes) {
    let whole = total(r) / f32(kK);
    let left = select(0.0f, whole.x, kCentred);
    found[r] = vec3f(found[r].x, left, 1.0f / sqrt(max(whole.y - left * left, 0.0f) + kEpsilon));
  }
  workgroupBarrier();

  if (kKept && tile % kTilesN == 0u) {
    for (var r = 0u; r < kRowsEach; r++) {
      for (var k = lane; k < kK && m0 + r < kM; k += kLanes) {
        let i = (m0 + r) * kK + k;
        keep(i, ((x_at(i) - found[r].x) - found[r].y) * found[r].z * scale_of(k) + shift_of(k));
      }
    }
  }
  var sums : array<f32, kRowsEach>;
  var ups : array<f32, kRowsEach>;
  var shifts = vec2f();  // what the norm's shift adds to every row
  var weights = vec2f();  // what a mean that is wrong by 1 would add
  let column = min(n, kN - 1u);
  for (var k = 0u; k < kK; k++) {
    let weight = w_load(w_begin(0u) + k * kWK + column * kWN);
    let scaled = scale_of(k) * weight;
    shifts.x += shift_of(k) * weight;
    weights.x += scaled;
    if (kGated) {
      let up = up_of(k, column);
      shifts.y += shift_of(k) * up;
      let scaled_up = scale_of(k) * up;
      weights.y += scaled_up;
      for (var r = 0u; r < kRowsEach; r++) {
        let d = x_at(min(m0 + r, kM - 1u) * kK + k) - found[r].x;
        sums[r] += d * scaled;
        ups[r] += d * scaled_up;
      }
    } else {
      for (var r = 0u; r < kRowsEach; r++) { sums[r] += (x_at(min(m0 + r, kM - 1u) * kK + k) - found[r].x) * scaled; }
    }
  }
  if (n >= kN) { return; }
  for (var r = 0u; r < kRowsEach; r++) {
    if (m0 + r < kM) {
      var v = act((sums[r] - found[r].y * weights.x) * found[r].z + shifts.x + bias_of(n));
      if (kGated) { v *= (ups[r] - found[r].y * weights.y) * found[r].z + shifts.y; }
      y_put((m0 + r) * kN + n, v);
    }
  }
}
//)wgsl"
