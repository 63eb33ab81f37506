/*/**/R"wgsl(*/
// One row is what lies along the axis. kLanes invocations walk along it together, kLanes * kEach columns
// at a time; a workgroup holds kGroupRows rows. In each step every lane combines its kEach columns, the
// lanes' totals are scanned in workgroup memory, and what came before is combined with every column:
//      columns    a b | c d | e f | g h       (kLanes = 4, kEach = 2)
//      totals      ab    cd    ef    gh   ->  ab, abcd, abcdef, abcdefgh (the carry of the next step)
//      lane 2     abcd e, abcd ef
// All barriers are reached by every invocation.
//#params
alias Acc = f32;
const kRows = 64u;
const kCols = 64u;       // as laid out: the largest number of columns
const kInner = 1u;       // elements between neighbours of one row
const kExclusive = 0u;   // 1: a column's own element does not count
const kReverse = 0u;     // 1: from the last column to the first
const kEach = 4u;
const kLanes = 16u;
const kGroupRows = 4u;
const kLaneStep = 1u;
const kRowStep = 16u;
const kGridRow = 16u;    // workgroups in one row of the grid
//#end
//#extents
fn cols() -> u32 { return kCols; }
//#end
const_assert kLanes * kGroupRows <= 256u;  // invocations per workgroup, default limit
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
//#slot combine
fn combine(a : Acc, b : Acc) -> Acc { return a + b; }
//#end
//#slot finish
fn finish(acc : Acc) -> Acc { return acc; }
//#end

var<workgroup> totals : array<Acc, kLanes * kGroupRows>;

@compute @workgroup_size(kLanes * kGroupRows)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let lane = (id / kLaneStep) % kLanes;
  let local_row = (id / kRowStep) % kGroupRows;
  let row = (group.y * kGridRow + group.x) * kGroupRows + local_row;
  let start = (row / kInner) * (kCols * kInner) + row % kInner;
  var carry = identity();
  for (var first = 0u; first < cols(); first += kLanes * kEach) {
    var each : array<Acc, kEach>;  // up to and with each of the lane's columns; written before it is read
    var total = identity();
    for (var j = 0u; j < kEach; j++) {
      let step = first + lane * kEach + j;
      if (row < kRows && step < cols()) {
        total = combine(total, x_at(start + select(step, cols() - 1u - step, kReverse == 1u) * kInner));
      }
      each[j] = total;
    }
    totals[id] = total;
    workgroupBarrier();
    for (var back = 1u; back < kLanes; back *= 2u) {
      var before = identity();
      if (lane >= back) { before = totals[id - back * kLaneStep]; }
      workgroupBarrier();
      totals[id] = combine(before, totals[id]);
      workgroupBarrier();
    }
    var before = carry;
    if (lane > 0u) { before = combine(carry, totals[id - kLaneStep]); }
    for (var j = 0u; j < kEach; j++) {
      let step = first + lane * kEach + j;
      if (row < kRows && step < cols()) {
        let i = start + select(step, cols() - 1u - step, kReverse == 1u) * kInner;
        var v = before;
        if (kExclusive == 0u) {
          v = combine(before, each[j]);
        } else if (j > 0u) {
          v = combine(before, each[j - 1u]);
        }
        y_put(i, finish(v));
      }
    }
    carry = combine(carry, totals[local_row * kRowStep + (kLanes - 1u) * kLaneStep]);
    workgroupBarrier();  // the next step overwrites the totals
  }
}
//)wgsl"
