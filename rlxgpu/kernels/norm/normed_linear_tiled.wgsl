/*/**/R"wgsl(*/
// normed_linear of many rows: one workgroup owns 64 rows and 64 columns, finds its rows' mean and variance (as rows.wgsl), and walks
// along k, staging 16 products at a time. Elements of x are normalised on their way into workgroup memory, where four rows, or four
// columns, are a vector:
//            k ->                n ->
//      m | vec4 of rows  x   k | vec4 of columns        an invocation has 4 x 4 sums, 4 x 8 if kGated
//
//#params
const kM = 64u;
const kN = 64u;
const kK = 64u;
const kWK = 64u;           // between neighbours along k in w
const kUK = 64u;           // in u
const kWN = 1u;
const kUN = 1u;
const kCentred = true;
const kGated = false;
const kKept = false;
const kEpsilon = 1e-5f;
const kTiles = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
const kTilesN = (kN + 63u) / 64u;
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
// Four columns of a row, zero beyond the edges.
//#place w_begin
fn w_begin(i : u32) -> u32 { return i; }
//#end
//#if WIDE
/*
//#buffer w
@group(0) @binding(1) var<storage, read> w : array<vec4f>;
fn w_load4(i : u32) -> vec4f { return w[i / 4u]; }
//#end
fn w_four(k : u32, n : u32) -> vec4f {
  if (k >= kK || n >= kN) { return vec4f(); }
  return w_load4(w_begin(0u) + k * kWK + n);
}
*/
//#else
//#buffer w
@group(0) @binding(1) var<storage, read> w : array<f32>;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
fn w_four(k : u32, n : u32) -> vec4f {
  var v = vec4f();
  for (var e = 0u; e < 4u; e++) {
    if (k < kK && n + e < kN) { v[e] = w_load(w_begin(0u) + k * kWK + (n + e) * kWN); }
  }
  return v;
}
//#end
//#if GATED
//#place u_begin
fn u_begin(i : u32) -> u32 { return i; }
//#end
//#if WIDE
/*
//#buffer u
@group(0) @binding(2) var<storage, read> u : array<vec4f>;
fn u_load4(i : u32) -> vec4f { return u[i / 4u]; }
//#end
fn u_four(k : u32, n : u32) -> vec4f {
  if (k >= kK || n >= kN) { return vec4f(); }
  return u_load4(u_begin(0u) + k * kUK + n);
}
*/
//#else
//#buffer u
@group(0) @binding(2) var<storage, read> u : array<f32>;
fn u_load(i : u32) -> f32 { return u[i]; }
//#end
fn u_four(k : u32, n : u32) -> vec4f {
  var v = vec4f();
  for (var e = 0u; e < 4u; e++) {
    if (k < kK && n + e < kN) { v[e] = u_load(u_begin(0u) + k * kUK + (n + e) * kUN); }
  }
  return v;
}
//#end
//#end
/*)wgsl"
#include "rlxgpu/kernels/norm/normed_linear.part.wgsl"
R"wgsl(*/
//#slot up_of
fn up_of(k : u32, n : u32) -> vec4f { return u_four(k, n); }
//#end

var<workgroup> tile_x : array<array<vec4f, 17>, 16>;  // one more than 16: neighbours along k are in different banks
var<workgroup> tile_w : array<array<vec4f, 16>, 16>;
//#slot tile_u
var<workgroup> tile_u : array<array<vec4f, 16>, 16>;
fn stage_up(k : u32, quad : u32, v : vec4f) { tile_u[k][quad] = v; }
fn staged_up(k : u32, quad : u32) -> vec4f { return tile_u[k][quad]; }
//#end
var<workgroup> partial : array<vec2f, 256>;
var<workgroup> found : array<vec3f, 64>;  // mean, what rounding left of it, factor

// The sums of a row, over the four invocations that share it.
fn total(row : u32) -> vec2f {
  return (partial[4u * row] + partial[4u * row + 1u]) + (partial[4u * row + 2u] + partial[4u * row + 3u]);
}

@compute @workgroup_size(256)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let m0 = tile / kTilesN * 64u;
  let n0 = tile % kTilesN * 64u;

  let own = min(m0 + id / 4u, kM - 1u) * kK;
  if (kCentred) {
    var sum = 0.0f;
    for (var k = id % 4u; k < kK; k += 4u) { sum += x_at(own + k); }
    partial[id] = vec2f(sum, 0.0f);
    workgroupBarrier();
    if (id < 64u) { found[id] = vec3f(total(id).x / f32(kK), 0.0f, 0.0f); }
    workgroupBarrier();
  }
  let mean = select(0.0f, found[id / 4u].x, kCentred);
  var both = vec2f();
  for (var k = id % 4u; k < kK; k += 4u) {
    let d = x_at(own + k) - mean;
    both += vec2f(d, d * d);
  }
  partial[id] = both;
  workgroupBarrier();
  if (id < 64u) {
    let whole = total(id) / f32(kK);
    let left = select(0.0f, whole.x, kCentred);
    let row_mean = select(0.0f, found[id].x, kCentred);
    found[id] = vec3f(row_mean, left, 1.0f / sqrt(max(whole.y - left * left, 0.0f) + kEpsilon));
  }
  workgroupBarrier();

  let row_quad = id / 16u;
  let quad = id % 16u;
  var sums : array<vec4f, 4>;
  var ups : array<vec4f, 4>;
  for (var k0 = 0u; k0 < kK; k0 += 16u) {
    // Of x neighbours are neighbours along k, of the matrices along n.
    let k = k0 + quad;
    var v = vec4f();
    if (k < kK) {
      let scale = scale_of(k);
      let shift = shift_of(k);
      for (var e = 0u; e < 4u; e++) {
        let row = 4u * row_quad + e;
        if (m0 + row < kM) {
          let i = (m0 + row) * kK + k;
          v[e] = ((x_at(i) - found[row].x) - found[row].y) * found[row].z * scale + shift;
          if (kKept && n0 == 0u) { keep(i, v[e]); }
        }
      }
    }
    tile_x[quad][row_quad] = v;
    tile_w[row_quad][quad] = w_four(k0 + row_quad, n0 + 4u * quad);
    if (kGated) { stage_up(row_quad, quad, up_of(k0 + row_quad, n0 + 4u * quad)); }
    workgroupBarrier();
    for (var j = 0u; j < 16u; j++) {
      let a = tile_x[j][row_quad];
      let b = tile_w[j][quad];
      sums[0] = fma(vec4f(a.x), b, sums[0]);
      sums[1] = fma(vec4f(a.y), b, sums[1]);
      sums[2] = fma(vec4f(a.z), b, sums[2]);
      sums[3] = fma(vec4f(a.w), b, sums[3]);
      if (kGated) {
        let c = staged_up(j, quad);
        ups[0] = fma(vec4f(a.x), c, ups[0]);
        ups[1] = fma(vec4f(a.y), c, ups[1]);
        ups[2] = fma(vec4f(a.z), c, ups[2]);
        ups[3] = fma(vec4f(a.w), c, ups[3]);
      }
    }
    workgroupBarrier();  // the next step overwrites the tiles
  }
  for (var i = 0u; i < 4u; i++) {
    let m = m0 + 4u * row_quad + i;
    for (var e = 0u; e < 4u; e++) {
      let n = n0 + 4u * quad + e;
      if (m < kM && n < kN) {
        var v = act(sums[i][e] + bias_of(n));
        if (kGated) { v *= ups[i][e]; }
        y_put(m * kN + n, v);
      }
    }
  }
}
//)wgsl"
