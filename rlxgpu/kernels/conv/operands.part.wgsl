/*/**/R"wgsl(*/
// What convolutions read and write.
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
//)wgsl"
