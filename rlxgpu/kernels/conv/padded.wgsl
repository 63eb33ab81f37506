/*/**/R"wgsl(*/
// Copies x with zeros around its spatial axes, one element an invocation, so that windows lie inside everywhere.
//#params
alias Acc = f32;
const kBefore0 = 0u;     const kBefore1 = 1u;     const kBefore2 = 1u;
const kIn0 = 1u;         const kIn1 = 16u;        const kIn2 = 16u;
const kPadded0 = 1u;     const kPadded1 = 18u;    const kPadded2 = 18u;
const kCount = 2592u;      // elements written
const kRow = 2624u;        // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#raw padded
@group(0) @binding(1) var<storage, read_write> padded : array<Acc>;
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let i2 = i % kPadded2 - kBefore2;  // wraps below zero
  let i1 = (i / kPadded2) % kPadded1 - kBefore1;
  let i0 = (i / (kPadded2 * kPadded1)) % kPadded0 - kBefore0;
  let plane = i / (kPadded2 * kPadded1 * kPadded0);
  var v = Acc(0);
  if (i0 < kIn0 && i1 < kIn1 && i2 < kIn2) { v = Acc(x_at(((plane * kIn0 + i0) * kIn1 + i1) * kIn2 + i2)); }
  padded[i] = v;
}
//)wgsl"
