/*/**/R"wgsl(*/
// Each invocation computes one element of the product. No layout, type or shape is beyond it.
//#params
alias Acc = f32;
const kM = 64u;
const kN = 64u;
const kK = 64u;            // as laid out: the largest number of products in a sum
const kAOffset = 0u;
const kARow = 64u;         // between neighbours along m in a
const kACol = 1u;          // between neighbours along k in a
const kBOffset = 0u;
const kBRow = 64u;         // between neighbours along k in b
const kBCol = 1u;          // between neighbours along n in b
// Batch axes, outermost first: extent, and the distance of neighbours in a and in b (0: broadcast).
const kBatch0 = 1u;
const kBatch1 = 1u;
const kBatch2 = 1u;
const kBatch3 = 1u;
const kBatch4 = 1u;
const kBatch5 = 1u;
const kABatch0 = 0u;
const kABatch1 = 0u;
const kABatch2 = 0u;
const kABatch3 = 0u;
const kABatch4 = 0u;
const kABatch5 = 0u;
const kBBatch0 = 0u;
const kBBatch1 = 0u;
const kBBatch2 = 0u;
const kBBatch3 = 0u;
const kBBatch4 = 0u;
const kBBatch5 = 0u;
const kCount = 4096u;      // elements of the result
const kRow = 4096u;        // invocations in one row of the grid
//#end
//#extents
fn products() -> u32 { return kK; }
//#end
//#input a
@group(0) @binding(0) var<storage, read> a : array<f32>;
fn a_at(i : u32) -> f32 { return a[i]; }
//#end
//#input b
@group(0) @binding(1) var<storage, read> b : array<f32>;
fn b_at(i : u32) -> f32 { return b[i]; }
//#end
//#output y
@group(0) @binding(2) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end

// Where the matrices of a batch begin in a and b.
fn batch_at(batch : u32) -> vec2u {
  var rest = batch;
  var at = vec2u(kAOffset, kBOffset);
  at += (rest % kBatch5) * vec2u(kABatch5, kBBatch5);
  rest /= kBatch5;
  at += (rest % kBatch4) * vec2u(kABatch4, kBBatch4);
  rest /= kBatch4;
  at += (rest % kBatch3) * vec2u(kABatch3, kBBatch3);
  rest /= kBatch3;
  at += (rest % kBatch2) * vec2u(kABatch2, kBBatch2);
  rest /= kBatch2;
  at += (rest % kBatch1) * vec2u(kABatch1, kBBatch1);
  rest /= kBatch1;
  return at + rest * vec2u(kABatch0, kBBatch0);
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let at = batch_at(i / (kM * kN));
  let a0 = at.x + ((i / kN) % kM) * kARow;
  let b0 = at.y + (i % kN) * kBCol;
  var sum = Acc(0);
  for (var k = 0u; k < products(); k++) { sum += Acc(a_at(a0 + k * kACol)) * Acc(b_at(b0 + k * kBRow)); }
  y_put(i, sum);
}
//)wgsl"
