/*/**/R"wgsl(*/
// Each invocation computes one element of the result. No layout, type or shape is beyond it.
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kGroups = 1u;
const kC = 8u;             // channels of x in a group
const kM = 8u;             // channels of the result in a group
/*)wgsl"
#include "rlxgpu/kernels/conv/window.part.wgsl"
R"wgsl(*/
const kCount = 2048u;      // elements of the result
const kRow = 2048u;        // invocations in one row of the grid
//#end
const kPlaces = kOut0 * kOut1 * kOut2;
/*)wgsl"
#include "rlxgpu/kernels/conv/operands.part.wgsl"
R"wgsl(*/

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let channel = (i / kPlaces) % (kGroups * kM);
  let image = i / (kPlaces * kGroups * kM);
  // Where the window begins. Below zero it wraps, and is then beyond the end.
  let o0 = ((i / (kOut1 * kOut2)) % kOut0) * kStride0 - kBefore0;
  let o1 = ((i / kOut2) % kOut1) * kStride1 - kBefore1;
  let o2 = (i % kOut2) * kStride2 - kBefore2;
  var sum = Acc(0);
  for (var c = 0u; c < kC; c++) {
    let x0 = ((image * kGroups + channel / kM) * kC + c) * kIn0;
    let w0 = (channel * kC + c) * kKernel0;
    for (var k0 = 0u; k0 < kKernel0; k0++) {
      let i0 = o0 + k0 * kDilation0;
      if (i0 >= kIn0) { continue; }
      for (var k1 = 0u; k1 < kKernel1; k1++) {
        let i1 = o1 + k1 * kDilation1;
        if (i1 >= kIn1) { continue; }
        for (var k2 = 0u; k2 < kKernel2; k2++) {
          let i2 = o2 + k2 * kDilation2;
          if (i2 >= kIn2) { continue; }
          sum += Acc(x_at(((x0 + i0) * kIn1 + i1) * kIn2 + i2)) * Acc(w_at(((w0 + k0) * kKernel1 + k1) * kKernel2 + k2));
        }
      }
    }
  }
  y_put(i, sum);
}
//)wgsl"
