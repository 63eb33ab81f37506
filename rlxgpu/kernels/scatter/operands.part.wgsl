/*/**/R"wgsl(*/
// What scatters read and write, and how an update joins what is there.
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#input indices
@group(0) @binding(1) var<storage, read> indices : array<i32>;
fn indices_at(i : u32) -> i32 { return indices[i]; }
//#end
//#input updates
@group(0) @binding(2) var<storage, read> updates : array<f32>;
fn updates_at(i : u32) -> f32 { return updates[i]; }
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#slot place
fn place(v : IndexType, extent : u32) -> u32 { return bitcast<u32>(select(v, v + i32(extent), v < 0)); }
//#end
//#slot combine
fn combine(a : Acc, b : Acc) -> Acc { return b; }
//#end
//#slot finish
fn finish(acc : Acc) -> Acc { return acc; }
//#end
//)wgsl"
