/*/**/R"wgsl(*/
// Each row of x by itself, times rows of packed blocks: a workgroup owns kEach rows of w and one of x, and its lanes
// share them, 32 neighbours at a time, whose scales are read once. Two sums over the lanes' products at the end: of
// subgroups if a workgroup is one, else through workgroup memory. If GROUPED, a row of x has a matrix of its own; if
// kGated, a second weight u is multiplied along, and what is stored is made of both sums.
//
// On lavapipe loops are unrolled if they are as long as the array that they index: sums[e] is, sums[e + 1u] is not.
//#if SUBGROUPS
enable subgroups;
//#end
//#params
const kRows = 1u;          // of x
const kN = 64u;
const kK = 256u;
const kEach = 4u;          // rows of w
const kLanes = 8u;
const kExperts = 1u;
const kGated = false;
const kElements = 32u;     // of a block
const kBytes = 34u;
const kGroups = 16u;
const kGridRow = 16u;      // workgroups in one row of the grid
//#end
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<vec4f>;
fn x_load4(i : u32) -> vec4f { return x[i / 4u]; }
//#end
//#raw w
@group(0) @binding(1) var<storage, read> w : array<u32>;
//#end
//#if GATED
//#raw u
@group(0) @binding(3) var<storage, read> u : array<u32>;
//#end
//#end
//#if GROUPED
//#input expert
@group(0) @binding(4) var<storage, read> expert : array<u32>;
fn expert_at(i : u32) -> u32 { return expert[i]; }
//#end
//#end
var<private> of_up : bool;
//#slot word
fn word(i : u32) -> u32 {
  if (of_up) { return u[i]; }
  return w[i];
}
//#end
//#slot matrix
fn matrix(row : u32) -> u32 { return u32(expert_at(row)); }
//#end
//#slot act
fn act(v : f32) -> f32 { return v; }
//#end
/*)wgsl"
#include "rlxgpu/kernels/blocks/blocks.part.wgsl"
R"wgsl(*/
/*)wgsl"
#include "rlxgpu/kernels/blocks/part.part.wgsl"
R"wgsl(*/
//#slot unpack
fn unpack4(b : u32, j : u32) -> vec4f { return vec4f(unpack4xI8(word_at(b + 2u + j))) * half_at(b); }
//#end
//#slot part
fn part_of(b : u32, s : u32) -> Part {
  var codes : array<vec4f, 8>;
  for (var i = 0u; i < 8u; i++) { codes[i] = unpack4(b, s * 32u + i * 4u); }
  return Part(codes, vec2f(1.0f), vec2f());
}
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
const kPartsOfBlock = kElements / 32u;
const kRowBytes = kK / kElements * kBytes;
const kTiles = (kN + kEach - 1u) / kEach;
alias Xs = array<vec4f, 8>;

fn product(p : Part, xs : Xs, totals : vec2f) -> f32 {
  let a = (xs[0] * p.codes[0] + xs[1] * p.codes[1]) + (xs[2] * p.codes[2] + xs[3] * p.codes[3]);
  let b = (xs[4] * p.codes[4] + xs[5] * p.codes[5]) + (xs[6] * p.codes[6] + xs[7] * p.codes[7]);
  return dot(p.scale, vec2f((a.x + a.y) + (a.z + a.w), (b.x + b.y) + (b.z + b.w))) + dot(p.least, totals);
}

//#if SUBGROUPS
/*
fn sum_of_lanes(lane : u32, v : f32) -> f32 { return subgroupAdd(v); }
*/
//#else
var<workgroup> kept : array<f32, kLanes>;
fn sum_of_lanes(lane : u32, v : f32) -> f32 {  // lane 0 has it
  workgroupBarrier();
  kept[lane] = v;
  workgroupBarrier();
  var sum = 0.0f;
  if (lane == 0u) {
    for (var l = 0u; l < kLanes; l++) { sum += kept[l]; }
  }
  return sum;
}
//#end

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kGroups) { return; }  // the same for the whole workgroup
  let row = number / kTiles;
  let n0 = number % kTiles * kEach;
  let which = matrix(row);
  let first = min(which, kExperts - 1u) * kN;
  var sums : array<f32, kEach>;
  var ups : array<f32, kEach>;
  for (var s = lane; s < kK / 32u; s += kLanes) {
    var xs : Xs;  // all of it is written before it is read
    for (var i = 0u; i < 8u; i++) { xs[i] = x_load4(row * kK + s * 32u + i * 4u); }
    let a = (xs[0] + xs[1]) + (xs[2] + xs[3]);
    let b = (xs[4] + xs[5]) + (xs[6] + xs[7]);
    let totals = vec2f((a.x + a.y) + (a.z + a.w), (b.x + b.y) + (b.z + b.w));
    let block = s / kPartsOfBlock * kBytes;
    for (var e = 0u; e < kEach; e++) {
      let at = (first + min(n0 + e, kN - 1u)) * kRowBytes + block;
      of_up = false;
      sums[e] += product(part_of(at, s % kPartsOfBlock), xs, totals);
      if (kGated) {
        of_up = true;
        ups[e] += product(part_of(at, s % kPartsOfBlock), xs, totals);
      }
    }
  }
  for (var e = 0u; e < kEach; e++) {
    var sum = sum_of_lanes(lane, sums[e]);
    if (kGated) { sum = act(sum) * sum_of_lanes(lane, ups[e]); }
    if (lane == 0u && n0 + e < kN) { y_put(row * kN + n0 + e, select(0.0f, sum, which < kExperts)); }
  }
}
//)wgsl"
