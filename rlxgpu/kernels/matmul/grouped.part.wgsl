/*/**/R"wgsl(*/
// The rows of each tile and its expert (grouped_route.wgsl), and the operands.
//#raw order
@group(0) @binding(0) var<storage, read> order : array<u32, kTiles * kTile>;
//#end
//#raw tiles
@group(0) @binding(1) var<storage, read> tiles : array<u32, kTiles>;
//#end
//#place x_begin
fn x_begin(i : u32) -> u32 { return 0u; }
//#end
//#place w_begin
fn w_begin(i : u32) -> u32 { return 0u; }
//#end
//#buffer x
@group(0) @binding(2) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
//#buffer w
@group(0) @binding(3) var<storage, read> w : array<f32>;
fn w_load(i : u32) -> f32 { return w[i]; }
//#end
//#output y
@group(0) @binding(4) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//)wgsl"
