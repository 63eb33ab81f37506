/*/**/R"wgsl(*/
// Every channel by itself (kM results of each). An invocation computes kEach neighbours along the last axis: for each row
// under the window it loads the elements that they share into registers, once, and lets the window slide over them.
//          x  . . [a b c] . .
//          y      0 1 2 3        with a kernel of 3 and a stride of 1: 6 loads for 4 results
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kM = 1u;
const kChannels = 8u;      // of the result
/*)wgsl"
#include "rlxgpu/kernels/conv/window.part.wgsl"
R"wgsl(*/
const kEach = 4u;
const kCount = 512u;       // invocations
const kRow = 512u;         // in one row of the grid
//#end
const kSpan = (kEach - 1u) * kStride2 + (kKernel2 - 1u) * kDilation2 + 1u;
const_assert kSpan <= 32u;  // longer arrays are not kept in registers
const kPieces = (kOut2 + kEach - 1u) / kEach;  // of a row
/*)wgsl"
#include "rlxgpu/kernels/conv/operands.part.wgsl"
R"wgsl(*/

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let rows = i / kPieces;  // of the result
  let first = (i % kPieces) * kEach;
  let plane = rows / (kOut0 * kOut1);
  let channel = plane % kChannels;
  let o0 = ((rows / kOut1) % kOut0) * kStride0 - kBefore0;  // wraps below zero
  let o1 = (rows % kOut1) * kStride1 - kBefore1;
  let o2 = first * kStride2 - kBefore2;
  var sums : array<Acc, kEach>;
  var line : array<Acc, kSpan>;
  for (var k0 = 0u; k0 < kKernel0; k0++) {
    let i0 = o0 + k0 * kDilation0;
    if (i0 >= kIn0) { continue; }
    for (var k1 = 0u; k1 < kKernel1; k1++) {
      let i1 = o1 + k1 * kDilation1;
      if (i1 >= kIn1) { continue; }
      let x0 = ((plane / kM * kIn0 + i0) * kIn1 + i1) * kIn2;
      let w0 = ((channel * kKernel0 + k0) * kKernel1 + k1) * kKernel2;
      for (var j = 0u; j < kSpan; j++) {
        let i2 = o2 + j;
        line[j] = Acc(0);
        if (i2 < kIn2) { line[j] = Acc(x_at(x0 + i2)); }
      }
      for (var k2 = 0u; k2 < kKernel2; k2++) {
        let weight = Acc(w_at(w0 + k2));
        for (var e = 0u; e < kEach; e++) { sums[e] += weight * line[e * kStride2 + k2 * kDilation2]; }
      }
    }
  }
  for (var e = 0u; e < kEach; e++) {
    if (first + e < kOut2) { y_put(rows * kOut2 + first + e, sums[e]); }
  }
}
//)wgsl"
