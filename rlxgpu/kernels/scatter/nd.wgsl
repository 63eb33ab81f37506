/*/**/R"wgsl(*/
// Each invocation makes one element of the result: it walks over all index tuples, in order, and takes
// the update of every one that means its place. A tuple with a number out of range means no place.
//#params
alias Acc = f32;
alias IndexType = i32;
const kCount = 64u;
const kRow = 64u;     // invocations in one row of the grid
const kTuple = 1u;    // numbers in a tuple: they choose along the first axes of x
const kInner = 1u;    // elements of x behind each place
const kPerTuples = 1u;  // tuples for each step of the first axis of the indices
// Extents of the first axes of x.
const kX0 = 64u;
const kX1 = 1u;
const kX2 = 1u;
const kX3 = 1u;
const kX4 = 1u;
const kX5 = 1u;
const kX6 = 1u;
const kX7 = 1u;
//#end
//#extents
fn steps() -> u32 { return 16u; }
//#end
/*)wgsl"
#include "rlxgpu/kernels/scatter/operands.part.wgsl"
R"wgsl(*/

const kX = array<u32, 8>(kX0, kX1, kX2, kX3, kX4, kX5, kX6, kX7);

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let own = i / kInner;
  let inner = i % kInner;
  var acc = Acc(x_at(i));
  for (var t = 0u; t < steps() * kPerTuples; t++) {
    var at = 0u;
    var inside = true;
    for (var axis = 0u; axis < kTuple; axis++) {
      let c = place(indices_at(t * kTuple + axis), kX[axis]);
      inside = inside && c < kX[axis];
      at = at * kX[axis] + c;
    }
    if (inside && at == own) { acc = combine(acc, updates_at(t * kInner + inner)); }
  }
  y_put(i, finish(acc));
}
//)wgsl"
