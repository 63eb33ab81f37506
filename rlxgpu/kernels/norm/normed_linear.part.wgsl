/*/**/R"wgsl(*/
// What the forms of normed_linear read and write beside x, w and u.
//#if SCALE
//#input scale
@group(0) @binding(3) var<storage, read> scale : array<f32>;
fn scale_at(i : u32) -> f32 { return scale[i]; }
//#end
//#end
//#if SHIFT
//#input shift
@group(0) @binding(4) var<storage, read> shift : array<f32>;
fn shift_at(i : u32) -> f32 { return shift[i]; }
//#end
//#end
//#if BIAS
//#input bias
@group(0) @binding(5) var<storage, read> bias : array<f32>;
fn bias_at(i : u32) -> f32 { return bias[i]; }
//#end
//#end
//#output y
@group(0) @binding(6) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#if KEPT
//#output normal
@group(0) @binding(7) var<storage, read_write> normal : array<f32>;
fn normal_put(i : u32, v : f32) { normal[i] = v; }
//#end
//#end
// What is not given is 1 or 0, or does nothing.
//#slot scale_of
fn scale_of(k : u32) -> f32 { return scale_at(k); }
//#end
//#slot shift_of
fn shift_of(k : u32) -> f32 { return shift_at(k); }
//#end
//#slot bias_of
fn bias_of(n : u32) -> f32 { return bias_at(n); }
//#end
//#slot keep
fn keep(i : u32, v : f32) { normal_put(i, v); }
//#end
//#slot act
fn act(v : f32) -> f32 { return v; }
//#end
//)wgsl"
