/*/**/R"wgsl(*/
// All steps in one dispatch. A workgroup owns kTile sequences of one direction and walks through their time, keeping what they remember
// (h, and c of an lstm) in `state`. What the input gives to every gate is there already (x, one product before this kernel); each
// step adds h times the recurrent weights: an invocation owns units lane, lane + kLanes, ... and sums all gates of one unit for
// all sequences at once, so that a weight is read once for kTile sequences. Weights are (direction, k, gate, unit): neighbouring
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

const kPlane = kTile * kHidden;      // one number for each unit of each sequence
const kMemory = 2u * kPlane;         // after h of even and of odd steps: c of an lstm; z of a gru, then r times h
alias Sums = array<array<f32, kTile>, kGates>;

// h and c of one unit of direction d after a step. x_at(at), x_at(at + kHidden), ...: what the input gives to its gates; sums[g][b]: what h
// gives them; before: h; memory: c, or z of a gru whose gates are known.
//#slot cell
fn gate(v : f32) -> f32 { return 1.0f / (1.0f + exp(-v)); }
fn cell(d : u32, unit : u32, at : u32, sums : Sums, b : u32, before : f32, memory : f32) -> vec2f {
  let c = gate(x_at(at + 2u * kHidden) + sums[2][b]) * memory + gate(x_at(at) + sums[0][b]) * tanh(x_at(at + 3u * kHidden) + sums[3][b]);
  return vec2f(gate(x_at(at + kHidden) + sums[1][b]) * tanh(c), c);
}
fn reset_gates(d : u32, at : u32, sums : Sums, b : u32) -> vec2f { return vec2f(gate(x_at(at) + sums[0][b]), gate(x_at(at + kHidden) + sums[1][b])); }
//#end

// h (from `from` on) times the weights of gates [first, end) of one unit.
fn products(d : u32, from_h : u32, unit : u32, first : u32, end : u32) -> Sums {
  var sums : Sums;
  let begin = d * kHidden * kGates * kHidden + unit;
  for (var k = 0u; k < kHidden; k++) {
    for (var g = first; g < end; g++) {
      let w = r_load(begin + (k * kGates + g) * kHidden);
      for (var b = 0u; b < kTile; b++) { sums[g][b] += w * state[from_h + b * kHidden + k]; }
    }
  }
  return sums;
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let d = group.x / kGroups;
  let row0 = (group.x % kGroups) * kTile;
  let backwards = ((kReverse >> d) & 1u) == 1u;
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
        let t = select(s, steps[b] - 1u - s, backwards && s < steps[b]);
        let gates = reset_gates(d, ((t * kRows + row) * kDirections + d) * kGates * kHidden + unit, sums, b);
        state[base + kMemory + b * kHidden + unit] = gates.x;
        state[base + kMemory + kPlane + b * kHidden + unit] = gates.y * state[now + b * kHidden + unit];
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
        let t = select(s, steps[b] - 1u - s, backwards && awake);
        let own = b * kHidden + unit;
        let before = state[now + own];
        var memory = 0.0f;
//#if MEMORY
        memory = state[base + kMemory + own];
//#end
        let made = cell(d, unit, ((t * kRows + row) * kDirections + d) * kGates * kHidden + unit, sums, b, before, memory);
//#if LSTM
        state[base + kMemory + own] = select(memory, made.y, awake);
//#end
        state[next + own] = select(before, made.x, awake);
        if (row0 + b < kRows) { y_put(((t * kDirections + d) * kRows + row) * kHidden + unit, select(0.0f, made.x, awake)); }
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
