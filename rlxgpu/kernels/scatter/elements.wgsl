/*/**/R"wgsl(*/
// Each invocation makes one element of the result: it walks along the axis of the indices, in order, and
// takes every update meant for its place. No two invocations write one element, so the result does not
// depend on their order. Tensors have eight axes here, the first ones of extent 1.
//#params
alias Acc = f32;
alias IndexType = i32;
const kCount = 64u;
const kRow = 64u;      // invocations in one row of the grid
const kAxis = 7u;
// Extents of x, and distances of neighbours in the indices.
const kX0 = 1u;
const kX1 = 1u;
const kX2 = 1u;
const kX3 = 1u;
const kX4 = 1u;
const kX5 = 1u;
const kX6 = 1u;
const kX7 = 64u;
const kStep0 = 1u;
const kStep1 = 1u;
const kStep2 = 1u;
const kStep3 = 1u;
const kStep4 = 1u;
const kStep5 = 1u;
const kStep6 = 1u;
const kStep7 = 1u;
//#end
//#extents
fn extent0() -> u32 { return 1u; }
fn extent1() -> u32 { return 1u; }
fn extent2() -> u32 { return 1u; }
fn extent3() -> u32 { return 1u; }
fn extent4() -> u32 { return 1u; }
fn extent5() -> u32 { return 1u; }
fn extent6() -> u32 { return 1u; }
fn extent7() -> u32 { return 16u; }
//#end
/*)wgsl"
#include "rlxgpu/kernels/scatter/operands.part.wgsl"
R"wgsl(*/

const kX = array<u32, 8>(kX0, kX1, kX2, kX3, kX4, kX5, kX6, kX7);
const kStep = array<u32, 8>(kStep0, kStep1, kStep2, kStep3, kStep4, kStep5, kStep6, kStep7);

// Of the indices.
fn extent(axis : u32) -> u32 {
  switch (axis) {
    case 0u: { return extent0(); }
    case 1u: { return extent1(); }
    case 2u: { return extent2(); }
    case 3u: { return extent3(); }
    case 4u: { return extent4(); }
    case 5u: { return extent5(); }
    case 6u: { return extent6(); }
    default: { return extent7(); }
  }
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  var rest = i;
  var own = 0u;    // coordinate along the axis
  var start = 0u;  // the first of the indices that may mean this element
  var inside = true;
  for (var axis = 8u; axis > 0u;) {
    axis--;
    let c = rest % kX[axis];
    rest /= kX[axis];
    if (axis == kAxis) {
      own = c;
    } else {
      start += c * kStep[axis];
      inside = inside && c < extent(axis);
    }
  }
  var acc = Acc(x_at(i));
  let last = select(0u, extent(kAxis), inside);
  for (var j = 0u; j < last; j++) {
    let at = start + j * kStep[kAxis];
    if (place(indices_at(at), kX[kAxis]) == own) { acc = combine(acc, updates_at(at)); }
  }
  y_put(i, finish(acc));
}
//)wgsl"
