/*/**/R"wgsl(*/
// Each row of x is cut into kSplits parts of kChunk columns; each part becomes one number. kLanes
// invocations share a part: each combines every kLanes-th column, then a tree in workgroup memory halves
// their number until one is left:
//        columns  0 1 2 3 0 1 2 3 0 1     (kLanes = 4)
//        lanes    0   1   2   3  ->  0+2   1+3  ->  0+1+2+3
// A workgroup holds kGroupRows parts. All barriers are reached by every invocation.
//#params
alias Elem = f32;        // of x
alias Acc = f32;         // of what is combined
alias Result = f32;      // of y
const kRows = 64u;
const kCols = 64u;       // as laid out: the largest number of columns
const kInner = 64u;      // columns for each step of the first reduced axis
const kInnerCount = 64u; // elements of x behind each step of counted()
const kSplits = 1u;
const kChunk = 64u;
const kLanes = 16u;
const kGroupRows = 4u;
const kLaneStep = 1u;
const kRowStep = 16u;
const kGridRow = 16u;    // workgroups in one row of the grid
//#end
//#extents
fn steps() -> u32 { return 1u; }
fn counted() -> u32 { return 1u; }
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
const_assert ((kLanes & (kLanes - 1u)) == 0u);
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#slot identity
fn identity() -> Acc { return Acc(0); }
//#end
//#slot lift
fn lift(v : Elem) -> Acc { return v; }
//#end
//#slot combine
fn combine(a : Acc, b : Acc) -> Acc { return a + b; }
//#end
//#slot finish
fn finish(acc : Acc) -> Result { return acc / f32(count()); }
//#end

fn count() -> u32 { return counted() * kInnerCount; }

fn two(i : u32) -> Acc { return combine(lift(x_at(i)), lift(x_at(i + kLanes))); }
fn four(i : u32) -> Acc { return combine(two(i), two(i + 2u * kLanes)); }
fn eight(i : u32) -> Acc { return combine(four(i), four(i + 4u * kLanes)); }

var<workgroup> partial : array<Acc, kLanes * kGroupRows>;

@compute @workgroup_size(kLanes * kGroupRows)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = (id / kLaneStep) % kLanes;
  let part = (group.y * kGridRow + group.x) * kGroupRows + (id / kRowStep) % kGroupRows;
  let row = part / kSplits;
  let first = (part % kSplits) * kChunk;
  let last = min(first + kChunk, steps() * kInner);
  var acc = identity();
  if (row < kRows) {
    let fat = (max(last, first) - first) / (8u * kLanes);  // trips of eight columns a lane; loops are dear on CPUs
    for (var trip = 0u; trip < fat; trip++) { acc = combine(acc, eight(row * kCols + first + trip * 8u * kLanes + lane)); }
    for (var col = first + fat * 8u * kLanes + lane; col < last; col += kLanes) {
      acc = combine(acc, lift(x_at(row * kCols + col)));
    }
  }
  partial[id] = acc;
  for (var half = kLanes / 2u; half > 0u; half /= 2u) {
    workgroupBarrier();
    if (lane < half) { partial[id] = combine(partial[id], partial[id + half * kLaneStep]); }
  }
  if (lane == 0u && row < kRows) { y_put(part, finish(partial[id])); }
}
//)wgsl"
