/*/**/R"wgsl(*/
// One step of all sequences, for layers so wide that one workgroup would take long over a step. A workgroup owns kLanes units of kTile
// sequences of one direction; kParts invocations share the sum over k of a unit. What sequences remember (h, then c of an lstm) is read
// from one buffer and written to another, which change places from step to step.
//#params
const kSteps = 4u;
const kRows = 3u;        // sequences
const kDirections = 1u;
const kHidden = 5u;
const kGates = 4u;       // lstm: i, o, f, c; gru: z, r, h; rnn: one
const kTile = 1u;
const kTiles = 3u;       // of one direction
const kLanes = 8u;
const kParts = 1u;
const kGridRow = 1u;     // workgroups in one row of the grid
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
//#raw number
@group(0) @binding(2) var<storage, read> number : array<u32>;  // of the step
//#end
//#raw now
@group(0) @binding(3) var<storage, read> now : array<f32>;
//#end
//#raw next
@group(0) @binding(4) var<storage, read_write> next : array<f32>;
//#end
//#if LENGTHS
//#input lengths
@group(0) @binding(5) var<storage, read> lengths : array<i32>;
fn lengths_at(i : u32) -> i32 { return lengths[i]; }
//#end
//#end
//#if EXTRA
//#input extra
@group(0) @binding(6) var<storage, read> extra : array<f32>;
fn extra_at(i : u32) -> f32 { return extra[i]; }
//#end
//#end
//#output y
@group(0) @binding(7) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

const kPlane = kDirections * kRows * kHidden;
const_assert kLanes * kParts <= 256u;  // invocations per workgroup, default limit
alias Sums = array<array<f32, kTile>, kGates>;
var<workgroup> partial : array<Sums, kLanes * kParts>;

// As in recurrent.wgsl.
//#slot cell
fn gate(v : f32) -> f32 { return 1.0f / (1.0f + exp(-v)); }
fn cell(d : u32, unit : u32, at : u32, sums : Sums, b : u32, before : f32, memory : f32) -> vec2f {
  let c = gate(x_at(at + 2u * kHidden) + sums[2][b]) * memory + gate(x_at(at) + sums[0][b]) * tanh(x_at(at + 3u * kHidden) + sums[3][b]);
  return vec2f(gate(x_at(at + kHidden) + sums[1][b]) * tanh(c), c);
}
//#end

@compute @workgroup_size(kLanes, kParts)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_id) id : vec3u) {
  let index = group.y * kGridRow + group.x;
  let blocks = (kHidden + kLanes - 1u) / kLanes;
  let tile = min(index / blocks, kDirections * kTiles - 1u);
  let d = tile / kTiles;
  let row0 = (tile % kTiles) * kTile;
  let unit = min((index % blocks) * kLanes + id.x, kHidden - 1u);
  var sums : Sums;
  let begin = d * kHidden * kGates * kHidden + unit;
  var rows : array<u32, kTile>;  // where h of each sequence begins
  for (var b = 0u; b < kTile; b++) { rows[b] = (d * kRows + min(row0 + b, kRows - 1u)) * kHidden; }
  for (var k = id.y; k < kHidden; k += kParts) {
    for (var g = 0u; g < kGates; g++) {
      let w = r_load(begin + (k * kGates + g) * kHidden);
      for (var b = 0u; b < kTile; b++) { sums[g][b] += w * now[rows[b] + k]; }
    }
  }
  if (kParts > 1u) {
    partial[id.y * kLanes + id.x] = sums;
    workgroupBarrier();
    if (id.y > 0u) { return; }
    for (var part = 1u; part < kParts; part++) {
      for (var g = 0u; g < kGates; g++) {
        for (var b = 0u; b < kTile; b++) { sums[g][b] += partial[part * kLanes + id.x][g][b]; }
      }
    }
  }
  if (index / blocks >= kDirections * kTiles || (index % blocks) * kLanes + id.x >= kHidden) { return; }
  let s = number[0];
  for (var b = 0u; b < kTile; b++) {
    let row = row0 + b;
    if (row < kRows) {
      var steps = kSteps;
//#if LENGTHS
      steps = u32(clamp(lengths_at(row), 0, i32(kSteps)));
//#end
      let awake = s < steps;
      let t = select(s, steps - 1u - s, awake && ((kReverse >> d) & 1u) == 1u);
      let own = rows[b] + unit;
      let before = now[own];
      var memory = 0.0f;
//#if LSTM
      memory = now[kPlane + own];
//#end
      let made = cell(d, unit, ((t * kRows + row) * kDirections + d) * kGates * kHidden + unit, sums, b, before, memory);
      next[own] = select(before, made.x, awake);
//#if LSTM
      next[kPlane + own] = select(memory, made.y, awake);
//#end
      y_put(((t * kDirections + d) * kRows + row) * kHidden + unit, select(0.0f, made.x, awake));
    }
  }
}
//)wgsl"
