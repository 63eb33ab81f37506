/*/**/R"wgsl(*/
// normed_linear of a few rows, as in decoding: loading w is what costs, so the rest is kept away from that loop. A workgroup
// normalises all rows into its own memory, then multiplies: each invocation four neighbouring columns, of which kQuads groups lie
// side by side, along every kSlices-th four of k. Invocations of one group of columns add up in the end.
//
//             k = 0 1 2 3 | 4 5 6 7 | ...          kSlices = 2: slice 0 takes the first four of k, slice 1 the next, 0 the third
//
// Mean and variance as in rows.wgsl. On a CPU a workgroup is one subgroup, without slices: nothing is added up.
//#params
const kM = 1u;
const kN = 64u;
const kK = 64u;
const kWK = 64u;           // between neighbours along k in w
const kUK = 64u;           // in u
const kCentred = true;
const kGated = false;
const kKept = false;
const kEpsilon = 1e-5f;
const kQuads = 8u;
const kSlices = 8u;
const kTiles = 2u;
const kGridRow = 2u;       // workgroups in one row of the grid
//#end
const kFours = (kK + 3u) / 4u;
const kLanes = kQuads * kSlices;
const_assert kN % 4u == 0u;
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#place w_begin
fn w_begin(i : u32) -> u32 { return i; }
//#end
//#buffer w
@group(0) @binding(1) var<storage, read> w : array<vec4f>;
fn w_load4(i : u32) -> vec4f { return w[i / 4u]; }
//#end
//#if GATED
//#place u_begin
fn u_begin(i : u32) -> u32 { return i; }
//#end
//#buffer u
@group(0) @binding(2) var<storage, read> u : array<vec4f>;
fn u_load4(i : u32) -> vec4f { return u[i / 4u]; }
//#end
//#end
/*)wgsl"
#include "rlxgpu/kernels/norm/normed_linear.part.wgsl"
R"wgsl(*/
//#slot up_of
fn up_of(k : u32, n : u32) -> vec4f { return u_load4(u_begin(0u) + k * kUK + n); }
//#end

var<workgroup> rows : array<vec4f, kM * kFours>;  // zero behind kK
var<workgroup> partial : array<vec2f, 2u * kLanes>;

// The sum over all invocations; each of the two sums has its own half of the array.
fn total(half : u32, lane : u32, v : vec2f) -> vec2f {
  let base = half * kLanes;
  partial[base + lane] = v;
  for (var step = kLanes / 2u; step > 0u; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { partial[base + lane] += partial[base + lane + step]; }
  }
  workgroupBarrier();
  return partial[base];
}

// Which of the four from k on there are.
fn among(k : u32) -> vec4f { return select(vec4f(), vec4f(1.0f), vec4u(k) + vec4u(0u, 1u, 2u, 3u) < vec4u(kK)); }

// Adds up what the slices found for one group of four columns.
//#slot gather
var<workgroup> found : array<vec4f, kLanes>;
fn gather(lane : u32, sum : vec4f) -> vec4f {
  workgroupBarrier();  // what was gathered before has been read
  found[lane] = sum;
  for (var step = kLanes / 2u; step >= kQuads; step /= 2u) {
    workgroupBarrier();
    if (lane < step) { found[lane] += found[lane + step]; }
  }
  workgroupBarrier();
  return found[lane % kQuads];
}
//#end

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  for (var m = 0u; m < kM; m++) {
    var sum = 0.0f;
    for (var i = lane; i < kFours; i += kLanes) {
      let at = m * kK + 4u * i;
      let most = m * kK + kK - 1u;
      let v = vec4f(x_at(at), x_at(min(at + 1u, most)), x_at(min(at + 2u, most)), x_at(min(at + 3u, most)));
      rows[m * kFours + i] = v;
      if (kCentred) { sum += dot(v, among(4u * i)); }
    }
    var mean = 0.0f;
    if (kCentred) { mean = total(0u, lane, vec2f(sum, 0.0f)).x / f32(kK); }
    var sums = vec2f();
    for (var i = lane; i < kFours; i += kLanes) {
      let d = (rows[m * kFours + i] - mean) * among(4u * i);
      sums += vec2f(dot(d, vec4f(1.0f)), dot(d, d));
    }
    let whole = total(1u, lane, sums) / f32(kK);
    let left = select(0.0f, whole.x, kCentred);
    let factor = 1.0f / sqrt(max(whole.y - left * left, 0.0f) + kEpsilon);
    for (var i = lane; i < kFours; i += kLanes) {
      var v = ((rows[m * kFours + i] - mean) - left) * factor;
      for (var c = 0u; c < 4u; c++) {
        let k = 4u * i + c;
        if (k < kK) {
          v[c] = v[c] * scale_of(k) + shift_of(k);
          if (kKept && tile == 0u) { keep(m * kK + k, v[c]); }
        } else {
          v[c] = 0.0f;
        }
      }
      rows[m * kFours + i] = v;
    }
    workgroupBarrier();  // the next row's sums overwrite these, and all read the rows
  }

  let n = (tile * kQuads + lane % kQuads) * 4u;
  let column = min(n, kN - 4u);
  let w0 = w_begin(0u) + column;
  var sums : array<vec4f, kM>;
  var ups : array<vec4f, kM>;
  for (var k = lane / kQuads * 4u; k < kK; k += 4u * kSlices) {
    let k1 = min(k + 1u, kK - 1u);
    let k2 = min(k + 2u, kK - 1u);
    let k3 = min(k + 3u, kK - 1u);
    let a = w_load4(w0 + k * kWK);
    let b = w_load4(w0 + k1 * kWK);
    let c = w_load4(w0 + k2 * kWK);
    let d = w_load4(w0 + k3 * kWK);
    for (var m = 0u; m < kM; m++) {
      let v = rows[m * kFours + k / 4u];
      sums[m] = fma(vec4f(v.w), d, fma(vec4f(v.z), c, fma(vec4f(v.y), b, fma(vec4f(v.x), a, sums[m]))));
    }
    if (kGated) {
      let p = up_of(k, column);
      let q = up_of(k1, column);
      let r = up_of(k2, column);
      let s = up_of(k3, column);
      for (var m = 0u; m < kM; m++) {
        let v = rows[m * kFours + k / 4u];
        ups[m] = fma(vec4f(v.w), s, fma(vec4f(v.z), r, fma(vec4f(v.y), q, fma(vec4f(v.x), p, ups[m]))));
      }
    }
  }
  for (var m = 0u; m < kM; m++) {
    let sum = gather(lane, sums[m]);
    var up = vec4f(1.0f);
    if (kGated) { up = gather(lane, ups[m]); }
    if (lane < kQuads && n < kN) {
      for (var c = 0u; c < 4u; c++) { y_put(m * kN + n + c, act(sum[c] + bias_of(n + c)) * up[c]); }
    }
  }
}
//)wgsl"
