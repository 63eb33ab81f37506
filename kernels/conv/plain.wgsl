/*/**/R"wgsl(*/
// Each invocation computes one element of the result. No layout, type or shape is beyond it.
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kGroups = 1u;
const kC = 8u;             // channels of x in a group
const kM = 8u;             // channels of the result in a group
const kKernel0 = 1u;     const kKernel1 = 3u;     const kKernel2 = 3u;
const kStride0 = 1u;     const kStride1 = 1u;     const kStride2 = 1u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;   // zeros before the first element
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;
const kOut0 = 1u;        const kOut1 = 16u;       const kOut2 = 16u;
const kCount = 2048u;      // elements of the result
const kRow = 2048u;        // invocations in one row of the grid
//#end
const kPlaces = kOut0 * kOut1 * kOut2;
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input w
@group(0) @binding(1) var<storage, read> w : array<f32>;
fn w_at(i : u32) -> f32 { return w[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

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
