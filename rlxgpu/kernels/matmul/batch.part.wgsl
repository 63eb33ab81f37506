/*/**/R"wgsl(*/
// How many products a sum has, and where the matrices of a batch begin.
//#extents
fn products() -> u32 { return kK; }
//#end
//#place a_begin
fn a_begin(batch : u32) -> u32 { return batch * kM * kK; }  // where its matrix begins in a
//#end
//#place b_begin
fn b_begin(batch : u32) -> u32 { return batch * kK * kN; }
//#end
//)wgsl"
