/*/**/R"wgsl(*/
// A recurrence along time: Mamba's (kDelta = false) and that of gated delta nets. Every column of a head has a state h of kN
// numbers; in each step
//
//   h *= decay        x -= h . b, times beta (kDelta), or x *= step        h += b x        y = h . c
//
// kParts invocations share a column, each with kFours fours of its numbers in registers; a workgroup has kCols columns of one head,
// so that b and c are the same for all of it. Time may be cut into kChunks: then this runs twice, first (LEAVES) from zero, to
// leave each chunk's last state and decay, and, when chain.wgsl has found how every chunk begins (STARTS), to give y.
//#params
const kTime = 64u;         // steps, as laid out
const kHeads = 1u;
const kWidth = 64u;        // columns of a head
const kN = 16u;
const kGroups = 1u;        // of b and c: neighbouring heads share one
const kDelta = false;
const kOwn = true;         // steps for each column, and rates for each number of its state
const kScale = 1.0f;       // of y
const kBStep = 1u;         // between neighbours along n in b
const kCStep = 1u;
const kCols = 64u;
const kParts = 1u;
const kFours = 4u;         // of a state, for each of them
const kTilesEach = 1u;     // workgroups for the columns of a head
const kTiles = 1u;
const kChunks = 1u;
const kChunk = 64u;        // steps in each of them
const kStates = 1024u;     // numbers in all states
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
//#extents
fn steps() -> u32 { return kTime; }
//#end
const_assert kCols * kParts <= 256u;  // invocations per workgroup, default limit
const_assert kParts * kFours * 4u >= kN;
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input step
@group(0) @binding(1) var<storage, read> step : array<f32>;
fn step_at(i : u32) -> f32 { return step[i]; }
//#end
//#input other
@group(0) @binding(2) var<storage, read> other : array<f32>;  // rates, or beta
fn other_at(i : u32) -> f32 { return other[i]; }
//#end
// Four elements from the four-th four on, zero where there are none.
//#place b_begin
fn b_begin(i : u32) -> u32 { return i * kN; }
//#end
//#if B_WIDE
/*
//#buffer b
@group(0) @binding(3) var<storage, read> b : array<vec4f>;
fn b_load4(i : u32) -> vec4f { return b[i / 4u]; }
//#end
fn b_four(begin : u32, four : u32) -> vec4f {
  if (4u * four >= kN) { return vec4f(); }
  return b_load4(begin + 4u * four);
}
*/
//#else
//#buffer b
@group(0) @binding(3) var<storage, read> b : array<f32>;
fn b_load(i : u32) -> f32 { return b[i]; }
//#end
fn b_four(begin : u32, four : u32) -> vec4f {
  var v = vec4f();
  for (var e = 0u; e < 4u; e++) {
    if (4u * four + e < kN) { v[e] = b_load(begin + (4u * four + e) * kBStep); }
  }
  return v;
}
//#end
//#if GIVES
//#place c_begin
fn c_begin(i : u32) -> u32 { return i * kN; }
//#end
//#if C_WIDE
/*
//#buffer c
@group(0) @binding(4) var<storage, read> c : array<vec4f>;
fn c_load4(i : u32) -> vec4f { return c[i / 4u]; }
//#end
fn c_four(begin : u32, four : u32) -> vec4f {
  if (4u * four >= kN) { return vec4f(); }
  return c_load4(begin + 4u * four);
}
*/
//#else
//#buffer c
@group(0) @binding(4) var<storage, read> c : array<f32>;
fn c_load(i : u32) -> f32 { return c[i]; }
//#end
fn c_four(begin : u32, four : u32) -> vec4f {
  var v = vec4f();
  for (var e = 0u; e < 4u; e++) {
    if (4u * four + e < kN) { v[e] = c_load(begin + (4u * four + e) * kCStep); }
  }
  return v;
}
//#end
//#output y
@group(0) @binding(5) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#end
//#if STATE
//#raw state
@group(0) @binding(6) var<storage, read_write> state : array<f32>;
//#end
//#end
//#if STARTS
//#raw starts
@group(0) @binding(7) var<storage, read> starts : array<f32>;
//#end
//#end
//#if LEAVES
/*
//#raw parts
@group(0) @binding(8) var<storage, read_write> parts : array<f32>;
//#end
*/
//#end
// Where number i of all states begins, and what becomes of it.
//#slot start_of
fn start_of(i : u32, chunk : u32) -> f32 { return state[i] + starts[chunk * kStates + i]; }
//#end
//#slot leave
fn leave(i : u32, chunk : u32, h : f32, factor : f32) { state[i] = h; }
//#end
//#slot exponential
fn decay(d : f32) -> f32 { return exp(d); }
fn decay4(d : vec4f) -> vec4f { return exp(d); }
//#end
// Of any number: 89 and more give infinity.
fn factor_of(d : f32) -> f32 { return decay(min(d, 89.0f)); }
fn factors_of(d : vec4f) -> vec4f { return decay4(min(d, vec4f(89.0f))); }
// The sum over the invocations that share a column. One barrier for each sum is enough when neighbouring sums use different
// halves of the array.
//#slot total
var<workgroup> sums : array<f32, 2u * kCols * kParts>;
fn total(half : u32, id : u32, v : f32) -> f32 {
  let base = half * kCols * kParts;
  sums[base + id] = v;
  workgroupBarrier();
  var sum = 0.0f;
  for (var part = 0u; part < kParts; part++) { sum += sums[base + part * kCols + id % kCols]; }
  return sum;
}
//#end

@compute @workgroup_size(kCols * kParts)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let number = group.y * kGridRow + group.x;
  if (number >= kTiles) { return; }
  let head = number / kTilesEach % kHeads;
  let chunk = number / (kTilesEach * kHeads) % kChunks;
  let batch = number / (kTilesEach * kHeads * kChunks);
  let shared_by = kHeads / kGroups;
  let wanted = number % kTilesEach * kCols + id % kCols;
  let inside = wanted < kWidth;
  let col = min(wanted, kWidth - 1u);
  let first = id / kCols * kFours;  // of the fours of the column's state
  let own = ((batch * kHeads + head) * kWidth + col) * kN;

  var h : array<vec4f, kFours>;
  var rates : array<vec4f, kFours>;
  for (var j = 0u; j < kFours; j++) {
    for (var e = 0u; e < 4u; e++) {
      let s = 4u * (first + j) + e;
      if (s < kN) {
        h[j][e] = start_of(own + s, chunk);
        if (kOwn) { rates[j][e] = other_at(col * kN + s); }
      }
    }
  }
  var rate = 1.0f;
  if (!kOwn && !kDelta) { rate = other_at(head); }
  var passed = 0.0f;  // the sum of the steps

  for (var t = chunk * kChunk; t < min((chunk + 1u) * kChunk, steps()); t++) {
    let row = batch * kTime + t;
    let place = row * kHeads + head;
    let amount = step_at(select(place, place * kWidth + col, kOwn));
    var v = x_at(place * kWidth + col);
    let b0 = b_begin(row * kGroups + head / shared_by);
    var factor = vec4f(1.0f);
    if (!kOwn) { factor = vec4f(factor_of(amount * rate)); }
    passed += amount;
    if (kDelta) {
      var held = 0.0f;
      for (var j = 0u; j < kFours; j++) {
        h[j] *= factor;
        held += dot(h[j], b_four(b0, first + j));
      }
      v = (v - total(0u, id, held)) * other_at(place);
    } else {
      v *= amount;
      for (var j = 0u; j < kFours; j++) {
        if (kOwn) { factor = factors_of(amount * rates[j]); }
        h[j] *= factor;
      }
    }
    for (var j = 0u; j < kFours; j++) { h[j] += b_four(b0, first + j) * v; }
//#if GIVES
    let c0 = c_begin(row * kGroups + head / shared_by);
    var sum = 0.0f;
    for (var j = 0u; j < kFours; j++) { sum += dot(h[j], c_four(c0, first + j)); }
    sum = total(select(t % 2u, 1u, kDelta), id, sum);
    if (inside && first == 0u) { y_put(place * kWidth + col, sum * kScale); }
//#end
  }
  for (var j = 0u; j < kFours; j++) {
    var whole = vec4f(1.0f);  // what all of the time does to it
    if (kOwn) {
      whole = factors_of(passed * rates[j]);
    } else if (!kDelta) {
      whole = vec4f(factor_of(passed * rate));
    }
    for (var e = 0u; e < 4u; e++) {
      let s = 4u * (first + j) + e;
      if (inside && s < kN) { leave(own + s, chunk, h[j][e], whole[e]); }
    }
  }
}
//)wgsl"
