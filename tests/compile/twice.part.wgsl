/*/**/R"wgsl(*/
// Shared.
//#slot twice
fn twice(v : f32) -> f32 { return 2.0f * v; }
//#end
//)wgsl"
