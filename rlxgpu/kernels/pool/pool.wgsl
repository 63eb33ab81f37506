/*/**/R"wgsl(*/
// Each invocation combines the elements under the window at one place. Places outside x count for nothing, or, where a mean
// says so, as zeros as far as the pads reach.
//#params
alias Acc = f32;
const kP = 2.0f;           // of lp
const kKernel0 = 1u;     const kKernel1 = 3u;     const kKernel2 = 3u;
const kStride0 = 1u;     const kStride1 = 1u;     const kStride2 = 1u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;
const kOut0 = 1u;        const kOut1 = 16u;       const kOut2 = 16u;
const kLow0 = 0u;        const kLow1 = 1u;        const kLow2 = 1u;    // from where to where a mean counts,
const kHigh0 = 1u;       const kHigh1 = 17u;      const kHigh2 = 17u;  // beginning with the pads before
const kCount = 2048u;      // elements of the result
const kRow = 2048u;        // invocations in one row of the grid
//#end
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
//#slot term
fn term(v : Acc) -> Acc { return v; }
//#end
//#slot finish
fn finish(acc : Acc) -> Acc { return acc; }
//#end

// Taps of a window that begins at `first` which count.
fn counted(first : u32, kernel : u32, dilation : u32, low : u32, high : u32) -> u32 {
  var n = 0u;
  for (var k = 0u; k < kernel; k++) {
    let at = first + k * dilation;
    n += select(0u, 1u, at >= low && at < high);
  }
  return n;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let o0 = ((i / (kOut1 * kOut2)) % kOut0) * kStride0;  // pads before included
  let o1 = ((i / kOut2) % kOut1) * kStride1;
  let o2 = (i % kOut2) * kStride2;
  let plane = (i / (kOut0 * kOut1 * kOut2)) * kIn0;
  var acc = identity();
  for (var k0 = 0u; k0 < kKernel0; k0++) {
    let i0 = o0 + k0 * kDilation0 - kBefore0;  // wraps below zero
    if (i0 >= kIn0) { continue; }
    for (var k1 = 0u; k1 < kKernel1; k1++) {
      let i1 = o1 + k1 * kDilation1 - kBefore1;
      if (i1 >= kIn1) { continue; }
      for (var k2 = 0u; k2 < kKernel2; k2++) {
        let i2 = o2 + k2 * kDilation2 - kBefore2;
        if (i2 >= kIn2) { continue; }
        acc = combine(acc, term(x_at(((plane + i0) * kIn1 + i1) * kIn2 + i2)));
      }
    }
  }
//#if MEAN
  let n = counted(o0, kKernel0, kDilation0, kLow0, kHigh0) * counted(o1, kKernel1, kDilation1, kLow1, kHigh1) *
          counted(o2, kKernel2, kDilation2, kLow2, kHigh2);
  y_put(i, acc / f32(max(n, 1u)));
//#else
  y_put(i, finish(acc));
//#end
}
//)wgsl"
