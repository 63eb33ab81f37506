/*/**/R"wgsl(*/
// Each invocation looks at the places of the window that meet its element, for one whose index names it; of several, the last.
//#params
alias Acc = f32;
const kSpan0 = 1u;       const kSpan1 = 2u;       const kSpan2 = 2u;   // of a window, dilation included
const kStride0 = 1u;     const kStride1 = 2u;     const kStride2 = 2u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 0u;     const kBefore2 = 0u;
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;   // of the result
const kOut0 = 1u;        const kOut1 = 8u;        const kOut2 = 8u;   // places
const kCount = 2048u;      // elements of the result
const kRow = 2048u;        // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input indices
@group(0) @binding(1) var<storage, read> indices : array<i32>;
fn indices_at(i : u32) -> i32 { return indices[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// The first place of a window that meets element `at`, which counts from the pads before.
fn first(at : u32, span : u32, stride : u32) -> u32 { return (max(at + 1u, span) - span + stride - 1u) / stride; }

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let i0 = (i / (kIn1 * kIn2)) % kIn0 + kBefore0;
  let i1 = (i / kIn2) % kIn1 + kBefore1;
  let i2 = i % kIn2 + kBefore2;
  let plane = (i / (kIn0 * kIn1 * kIn2)) * kOut0;
  var v = Acc(0);
  for (var o0 = first(i0, kSpan0, kStride0); o0 < kOut0 && o0 * kStride0 <= i0; o0++) {
    for (var o1 = first(i1, kSpan1, kStride1); o1 < kOut1 && o1 * kStride1 <= i1; o1++) {
      for (var o2 = first(i2, kSpan2, kStride2); o2 < kOut2 && o2 * kStride2 <= i2; o2++) {
        let at = ((plane + o0) * kOut1 + o1) * kOut2 + o2;
        let is_tap = (i0 - o0 * kStride0) % kDilation0 == 0u && (i1 - o1 * kStride1) % kDilation1 == 0u &&
            (i2 - o2 * kStride2) % kDilation2 == 0u;
        if (is_tap && u32(indices_at(at)) == i) { v = x_at(at); }
      }
    }
  }
  y_put(i, v);
}
//)wgsl"
