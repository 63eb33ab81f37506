/*/**/R"wgsl(*/
// argmax and argmin, laid out as reduce.wgsl. Elements are compared by keys: unsigned numbers in the
// order of the elements (reversed for argmin), NaN above all. A candidate is (key, column); the one with
// the greater key wins, the smaller column among equals, so that the order of combining does not matter.
//#params
const kRows = 64u;
const kCols = 64u;
const kSplits = 1u;
const kChunk = 64u;
const kLanes = 16u;
const kGroupRows = 4u;
const kLaneStep = 1u;
const kRowStep = 16u;
const kGridRow = 16u;
//#end
//#extents
fn cols() -> u32 { return kCols; }
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
//#if ELEMENTS
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#slot key
fn key(v : f32) -> u32 {
  let bits = bitcast<u32>(v);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return 0xffffffffu; }
  if (magnitude == 0u) { return 0x80000000u; }
  return select(bits | 0x80000000u, ~bits, bits != magnitude);
}
//#end
//#end
//#if CANDIDATES
//#input given
@group(0) @binding(1) var<storage, read> given : array<u32>;
fn given_at(i : u32) -> u32 { return given[i]; }
//#end
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#slot candidate
fn candidate(row : u32, col : u32) -> vec2u { return vec2u(key(x_at(row * kCols + col)), col); }
//#end
//#slot store
fn store(part : u32, best : vec2u) { y_put(part, i32(best.y)); }
//#end

fn better(a : vec2u, b : vec2u) -> vec2u { return select(a, b, b.x > a.x || (b.x == a.x && b.y < a.y)); }

var<workgroup> partial : array<vec2u, kLanes * kGroupRows>;

@compute @workgroup_size(kLanes * kGroupRows)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = (id / kLaneStep) % kLanes;
  let part = (group.y * kGridRow + group.x) * kGroupRows + (id / kRowStep) % kGroupRows;
  let row = part / kSplits;
  let first = (part % kSplits) * kChunk;
  let last = min(first + kChunk, cols());
  var best = vec2u(0u, 0xffffffffu);
  if (row < kRows) {
    for (var col = first + lane; col < last; col += kLanes) { best = better(best, candidate(row, col)); }
  }
  partial[id] = best;
  for (var half = kLanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[id] = better(partial[id], partial[id + half * kLaneStep]); }
  }
  if (lane == 0u && row < kRows) { store(part, partial[id]); }
}
//)wgsl"
