/*/**/R"wgsl(*/
// A workgroup owns kTile sequences of one direction and walks through their time, keeping what they remember (h, and c of an
// lstm) in `state`. What the input gives to every gate is there already (x, one product before this kernel); each step adds h
// times the recurrent weights: an invocation owns units lane, lane + kLanes, ... and sums all gates of one unit for all sequences
// at once, so that a weight is read once for kTile sequences. Weights are (direction, k, gate, unit): neighbouring
// invocations read neighbours. One barrier a step; two for a gru that resets before it multiplies.
//#params
const kSteps = 4u;
const kRows = 3u;        // sequences
const kDirections = 1u;
const kHidden = 5u;
const kGates = 4u;       // lstm: i, o, f, c; gru: z, r, h; rnn: one
const kTile = 1u;
const kGroups = 3u;      // workgroups of one direction
const kLanes = 8u;
const kState = 15u;      // numbers that a workgroup remembers
const kClip = 0.0f;      // gates' sums are clamped to it; 0: not
const kReverse = 0u;     // bit d: direction d walks backwards
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#buffer r
@group(0) @binding(1) var<storage, read> r : array<f32>;
fn r_load(i : u32) -> f32 { return r[i]; }
//#end
//#if INITIAL
//#input initial
@group(0) @binding(2) var<storage, read> initial : array<f32>;
fn initial_at(i : u32) -> f32 { return initial[i]; }
//#end
//#end
//#if LENGTHS
//#input lengths
@group(0) @binding(3) var<storage, read> lengths : array<i32>;
fn lengths_at(i : u32) -> i32 { return lengths[i]; }
//#end
//#end
//#if EXTRA
//#input extra
@group(0) @binding(4) var<storage, read> extra : array<f32>;
fn extra_at(i : u32) -> f32 { return extra[i]; }
//#end
//#end
//#output y
@group(0) @binding(5) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#output last
@group(0) @binding(6) var<storage, read_write> last : array<f32>;
fn last_put(i : u32, v : f32) { last[i] = v; }
//#end
//#if HELD
var<workgroup> state : array<f32, kState>;
fn sync() { workgroupBarrier(); }
//#else
/*
//#raw state
@group(0) @binding(7) var<storage, read_write> state : array<f32>;
//#end
fn sync() { storageBarrier(); }
*/
//#end
//#slot activations
fn act_f(d : u32, v : f32) -> f32 { return 1.0f / (1.0f + exp(-v)); }
fn act_g(d : u32, v : f32) -> f32 { return tanh(v); }
fn act_h(d : u32, v : f32) -> f32 { return tanh(v); }
//#end

const kPlane = kTile * kHidden;      // one number for each unit of each sequence
const kMemory = 2u * kPlane;         // after h of even and of odd steps: c of an lstm; z of a gru, then r times h
alias Sums = array<array<f32, kTile>, kGates>;

fn clipped(v : f32) -> f32 {
  if (kClip > 0.0f) { return clamp(v, -kClip, kClip); }
  return v;
}

// h (from `at` on) times the weights of gates [first, end) of one unit.
fn products(d : u32, at : u32, unit : u32, first : u32, end : u32) -> Sums {
  var sums : Sums;
  let begin = d * kHidden * kGates * kHidden + unit;
  for (var k = 0u; k < kHidden; k++) {
    for (var g = first; g < end; g++) {
      let w = r_load(begin + (k * kGates + g) * kHidden);
      for (var b = 0u; b < kTile; b++) { sums[g][b] += w * state[at + b * kHidden + k]; }
    }
  }
  return sums;
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let d = group.x / kGroups;
  let row0 = (group.x % kGroups) * kTile;
//#if HELD
  let base = 0u;
//#else
/*
  let base = group.x * kState;
*/
//#end
  var steps : array<u32, kTile>;
  for (var b = 0u; b < kTile; b++) {
    steps[b] = kSteps;
//#if LENGTHS
    steps[b] = u32(clamp(lengths_at(min(row0 + b, kRows - 1u)), 0, i32(kSteps)));
//#end
  }
  for (var unit = lane; unit < kHidden; unit += kLanes) {
    for (var b = 0u; b < kTile; b++) {
      var h = 0.0f;
      var c = 0.0f;
//#if INITIAL
      let i = (d * kRows + min(row0 + b, kRows - 1u)) * kHidden + unit;
      h = initial_at(i);
//#if LSTM
      c = initial_at(kDirections * kRows * kHidden + i);
//#end
//#end
      state[base + b * kHidden + unit] = h;
//#if LSTM
      state[base + kMemory + b * kHidden + unit] = c;
//#end
    }
  }
  sync();
  for (var s = 0u; s < kSteps; s++) {
    let now = base + (s & 1u) * kPlane;
    let next = base + kPlane - (s & 1u) * kPlane;
//#if RESET_FIRST
    for (var unit = lane; unit < kHidden; unit += kLanes) {
      let sums = products(d, now, unit, 0u, 2u);
      for (var b = 0u; b < kTile; b++) {
        let row = min(row0 + b, kRows - 1u);
        let t = select(s, steps[b] - 1u - s, ((kReverse >> d) & 1u) == 1u && s < steps[b]);
        let at = ((t * kRows + row) * kDirections + d) * kGates * kHidden + unit;
        let z = act_f(d, clipped(x_at(at) + sums[0][b]));
        let reset = act_f(d, clipped(x_at(at + kHidden) + sums[1][b]));
        state[base + kMemory + b * kHidden + unit] = z;
        state[base + kMemory + kPlane + b * kHidden + unit] = reset * state[now + b * kHidden + unit];
      }
    }
    sync();
//#end
    for (var unit = lane; unit < kHidden; unit += kLanes) {
//#if RESET_FIRST
      let sums = products(d, base + kMemory + kPlane, unit, 2u, kGates);
//#else
/*
      let sums = products(d, now, unit, 0u, kGates);
*/
//#end
      for (var b = 0u; b < kTile; b++) {
        let row = min(row0 + b, kRows - 1u);
        let awake = s < steps[b];
        let t = select(s, steps[b] - 1u - s, awake && ((kReverse >> d) & 1u) == 1u);
        let at = ((t * kRows + row) * kDirections + d) * kGates * kHidden + unit;
        let own = b * kHidden + unit;
        let before = state[now + own];
//#if LSTM
        let c = state[base + kMemory + own];
        var pi = 0.0f;
        var po = 0.0f;
        var pf = 0.0f;
//#if EXTRA
        pi = extra_at(d * 3u * kHidden + unit) * c;
        po = extra_at((d * 3u + 1u) * kHidden + unit);
        pf = extra_at((d * 3u + 2u) * kHidden + unit) * c;
//#end
        let i = act_f(d, clipped(x_at(at) + sums[0][b] + pi));
//#if COUPLED
        let f = 1.0f - i;
//#else
/*
        let f = act_f(d, clipped(x_at(at + 2u * kHidden) + sums[2][b] + pf));
*/
//#end
        let cell = f * c + i * act_g(d, clipped(x_at(at + 3u * kHidden) + sums[3][b]));
        let o = act_f(d, clipped(x_at(at + kHidden) + sums[1][b] + po * cell));
        let h = o * act_h(d, cell);
        state[base + kMemory + own] = select(c, cell, awake);
//#end
//#if GRU
/*
        let z = act_f(d, clipped(x_at(at) + sums[0][b]));
        let reset = act_f(d, clipped(x_at(at + kHidden) + sums[1][b]));
        var linear = sums[2][b];
//#if EXTRA
        linear += extra_at(d * kHidden + unit);
//#end
        let h = mix(act_g(d, clipped(x_at(at + 2u * kHidden) + reset * linear)), before, z);
*/
//#end
//#if RESET_FIRST
/*
        let z = state[base + kMemory + own];
        let h = mix(act_g(d, clipped(x_at(at + 2u * kHidden) + sums[2][b])), before, z);
*/
//#end
//#if RNN
/*
        let h = act_f(d, clipped(x_at(at) + sums[0][b]));
*/
//#end
        state[next + own] = select(before, h, awake);
        if (row0 + b < kRows) { y_put(((t * kDirections + d) * kRows + row) * kHidden + unit, select(0.0f, h, awake)); }
      }
    }
    sync();
  }
  let final_h = base + (kSteps & 1u) * kPlane;
  for (var unit = lane; unit < kHidden; unit += kLanes) {
    for (var b = 0u; b < kTile; b++) {
      if (row0 + b < kRows) {
        let i = (d * kRows + row0 + b) * kHidden + unit;
        last_put(i, state[final_h + b * kHidden + unit]);
//#if LSTM
        last_put(kDirections * kRows * kHidden + i, state[base + kMemory + b * kHidden + unit]);
//#end
      }
    }
  }
}
//)wgsl"
