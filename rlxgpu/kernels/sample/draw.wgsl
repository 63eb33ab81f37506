/*/**/R"wgsl(*/
// Draws one of each row's candidates, which come best first: one workgroup a row. The first pass adds up exp(score - greatest); the
// second finds each candidate's probability and what those before it add up to, kLanes candidates at a time, and keeps the
// greatest score + noise of those that pass. All barriers are reached by every invocation.
//#params
const kRows = 1u;
const kCols = 40u;
const kScale = 1.0f;   // of logits
const kTopP = 1.0f;
const kMinP = 0.0f;
const kStream = 0u;
const kLanes = 64u;
const kGridRow = 1u;   // workgroups in one row of the grid
//#end
const_assert kLanes <= 256u;  // invocations per workgroup, default limit
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input tokens
@group(0) @binding(1) var<storage, read> tokens : array<i32>;
fn tokens_at(i : u32) -> i32 { return tokens[i]; }
//#end
//#input seed
@group(0) @binding(2) var<storage, read> seed : array<u32>;
fn seed_at(i : u32) -> u32 { return seed[i]; }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#slot functions
fn rlx_exp(v : f32) -> f32 { return exp(v); }
fn rlx_log(v : f32) -> f32 { return log(v); }
fn rlx_threefry(key : vec2u, counter : vec2u) -> vec2u { return key ^ counter; }
//#end

var<workgroup> shares : array<f32, kLanes>;
var<workgroup> best_scores : array<f32, kLanes>;
var<workgroup> best_columns : array<u32, kLanes>;

fn score_of(i : u32) -> f32 { return x_at(i) * kScale; }
fn noise_of(token : i32, row : u32) -> f32 {
  let bits = rlx_threefry(vec2u(seed_at(0u), kStream), vec2u(bitcast<u32>(token), row)).x;
  return -rlx_log(-rlx_log((f32(bits >> 9u) + 0.5f) * 0x1p-23f));
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let row = group.y * kGridRow + group.x;
  if (row >= kRows) { return; }
  let start = row * kCols;
  let most = score_of(start);
  var sum = 0.0f;
  for (var col = lane; col < kCols; col += kLanes) { sum += rlx_exp(score_of(start + col) - most); }
  shares[lane] = sum;
  workgroupBarrier();
  var under = 0.0f;
  for (var i = 0u; i < kLanes; i++) { under += shares[i]; }

  var best = 0.0f;
  var best_column = 0xffffffffu;
  var before = 0.0f;  // the probabilities of all candidates of the steps before
  for (var first = 0u; first < kCols; first += kLanes) {
    let col = first + lane;
    var p = 0.0f;
    if (col < kCols) { p = rlx_exp(score_of(start + col) - most) / under; }
    workgroupBarrier();  // the shares of the step before have been read
    shares[lane] = p;
    workgroupBarrier();
    var all = before;
    for (var i = 0u; i < kLanes; i++) {
      if (i < lane) { before += shares[i]; }
      all += shares[i];
    }
    if (col < kCols && (kTopP >= 1.0f || before < kTopP) && p >= kMinP / under) {
      let v = score_of(start + col) + noise_of(tokens_at(start + col), row);
      if (best_column == 0xffffffffu || v > best) {
        best = v;
        best_column = col;
      }
    }
    before = all;
  }
  best_scores[lane] = best;
  best_columns[lane] = best_column;
  workgroupBarrier();
  if (lane > 0u) { return; }
  for (var i = 1u; i < kLanes; i++) {
    let other = best_columns[i];
    if (other == 0xffffffffu) { continue; }
    let v = best_scores[i];
    if (best_column == 0xffffffffu || v > best || (v == best && other < best_column)) {
      best = v;
      best_column = other;
    }
  }
  y_put(row, tokens_at(start + min(best_column, kCols - 1u)));
}
//)wgsl"
