/*/**/R"wgsl(*/
// Copies elements, as the numbers that updates are added to or as those that were added up.
//#params
alias Elem = i32;
alias Acc = u32;
const kCount = 64u;
const kRow = 64u;   // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<i32>;
fn x_at(i : u32) -> i32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<u32>;
fn y_put(i : u32, v : u32) { y[i] = v; }
//#end
//#slot finish
fn finish(acc : Acc) -> Acc { return acc; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  y_put(i, finish(bitcast<Acc>(x_at(i))));
}
//)wgsl"
