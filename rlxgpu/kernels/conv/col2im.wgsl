/*/**/R"wgsl(*/
// Each invocation adds up the columns' elements that belong to one element of the result: those of the taps that meet it
// from some place. With a dilation of 1 they are a stride apart, and no other is looked at.
//#params
const kKernel0 = 1u;     const kKernel1 = 3u;     const kKernel2 = 3u;
const kStride0 = 1u;     const kStride1 = 2u;     const kStride2 = 2u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;   // of the result, over which the window walks
const kOut0 = 1u;        const kOut1 = 8u;        const kOut2 = 8u;   // places of the window
const kCount = 2048u;      // elements of the result
const kRow = 2048u;        // invocations in one row of the grid
//#end
const kStep0 = select(1u, kStride0, kDilation0 == 1u);
const kStep1 = select(1u, kStride1, kDilation1 == 1u);
const kStep2 = select(1u, kStride2, kDilation2 == 1u);
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let i0 = (i / (kIn1 * kIn2)) % kIn0 + kBefore0;
  let i1 = (i / kIn2) % kIn1 + kBefore1;
  let i2 = i % kIn2 + kBefore2;
  let plane = (i / (kIn0 * kIn1 * kIn2)) * kKernel0;
  var sum = 0.0f;
  for (var k0 = i0 % kStep0; k0 < kKernel0; k0 += kStep0) {
    let d0 = i0 - k0 * kDilation0;  // wraps below zero
    if (d0 % kStride0 != 0u || d0 / kStride0 >= kOut0) { continue; }
    for (var k1 = i1 % kStep1; k1 < kKernel1; k1 += kStep1) {
      let d1 = i1 - k1 * kDilation1;
      if (d1 % kStride1 != 0u || d1 / kStride1 >= kOut1) { continue; }
      for (var k2 = i2 % kStep2; k2 < kKernel2; k2 += kStep2) {
        let d2 = i2 - k2 * kDilation2;
        if (d2 % kStride2 != 0u || d2 / kStride2 >= kOut2) { continue; }
        let row = ((plane + k0) * kKernel1 + k1) * kKernel2 + k2;
        sum += x_at(((row * kOut0 + d0 / kStride0) * kOut1 + d1 / kStride1) * kOut2 + d2 / kStride2);
      }
    }
  }
  y_put(i, sum);
}
//)wgsl"
