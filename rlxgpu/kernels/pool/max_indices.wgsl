/*/**/R"wgsl(*/
// Each invocation finds the greatest element under the window at one place, and where in x it is: the first of equals, and a
// NaN before all others.
//#params
alias Acc = f32;
const kKernel0 = 1u;     const kKernel1 = 3u;     const kKernel2 = 3u;
const kStride0 = 1u;     const kStride1 = 1u;     const kStride2 = 1u;
const kDilation0 = 1u;   const kDilation1 = 1u;   const kDilation2 = 1u;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;
const kOut0 = 1u;        const kOut1 = 16u;       const kOut2 = 16u;
const kColumns = 0u;       // 1: within an image and channel, indices count the first spatial axis fastest
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
//#output indices
@group(0) @binding(2) var<storage, read_write> indices : array<i32>;
fn indices_put(i : u32, v : i32) { indices[i] = v; }
//#end
//#slot identity
fn identity() -> Acc { return Acc(0); }
//#end
//#slot above
fn above(a : Acc, b : Acc) -> bool { return a > b; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let o0 = ((i / (kOut1 * kOut2)) % kOut0) * kStride0 - kBefore0;  // wraps below zero
  let o1 = ((i / kOut2) % kOut1) * kStride1 - kBefore1;
  let o2 = (i % kOut2) * kStride2 - kBefore2;
  let plane = i / (kOut0 * kOut1 * kOut2);
  var best = identity();
  var found = vec3u();
  var none = true;
  for (var k0 = 0u; k0 < kKernel0; k0++) {
    let i0 = o0 + k0 * kDilation0;
    if (i0 >= kIn0) { continue; }
    for (var k1 = 0u; k1 < kKernel1; k1++) {
      let i1 = o1 + k1 * kDilation1;
      if (i1 >= kIn1) { continue; }
      for (var k2 = 0u; k2 < kKernel2; k2++) {
        let i2 = o2 + k2 * kDilation2;
        if (i2 >= kIn2) { continue; }
        let v = x_at(((plane * kIn0 + i0) * kIn1 + i1) * kIn2 + i2);
        if (none || above(v, best)) {
          none = false;
          best = v;
          found = vec3u(i0, i1, i2);
        }
      }
    }
  }
  let rows = (found.x * kIn1 + found.y) * kIn2 + found.z;
  let columns = (found.z * kIn1 + found.y) * kIn0 + found.x;
  y_put(i, best);
  indices_put(i, i32(plane * (kIn0 * kIn1 * kIn2) + select(rows, columns, kColumns == 1u)));
}
//)wgsl"
