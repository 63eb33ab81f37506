/*/**/R"wgsl(*/
// Copies an operand of a product into strips, in the order in which packed.wgsl reads them:
//       strip 0          strip 1              A strip is kStrip vectors wide and kWalk long. Of a, a vector
//     0  1  2  3      12 13 14 15             has four neighbours along k and a strip some rows; of b, a
//     4  5  6  7      16 17 18 19   | walk    vector has four columns of one row. Elements outside the
//     8  9 10 11      20 21 22 23   v         operand are zero, so packed.wgsl has no edges to look after.
//#params
alias Elem = f32;
const kVectors = 1024u;    // written, of all matrices
const kStrips = 1u;        // of one matrix
const kStrip = 64u;
const kWalk = 16u;
const kAlongK = 1u;        // of the neighbours in a vector; 0: along m or n
const kLines = 64u;        // rows of a, columns of b
const kK = 64u;            // as laid out: the largest number of products in a sum
const kLineStep = 64u;     // between neighbouring lines in memory
const kKStep = 1u;         // between neighbours along k
const kRow = 1024u;        // invocations in one row of the grid
//#end
//#extents
fn products() -> u32 { return kK; }
//#end
const kStep = select(kLineStep, kKStep, kAlongK == 1u);  // between the elements of a vector
//#place begin
fn begin(batch : u32) -> u32 { return batch * kLines * kK; }  // where its matrix begins in x
//#end
//#if WIDE
/*
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<vec4f>;
fn x_load4(i : u32) -> vec4f { return x[i / 4u]; }
//#end
fn fetch(at : u32, more : u32) -> vec4<Elem> { return vec4<Elem>(x_load4(at)); }
*/
//#else
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
fn fetch(at : u32, more : u32) -> vec4<Elem> {  // `more` elements are there, at least one
  var v : vec4<Elem>;
  v.x = Elem(x_load(at));
  if (more > 1u) { v.y = Elem(x_load(at + kStep)); }
  if (more > 2u) { v.z = Elem(x_load(at + 2u * kStep)); }
  if (more > 3u) { v.w = Elem(x_load(at + 3u * kStep)); }
  return v;
}
//#end
//#raw strips
@group(0) @binding(1) var<storage, read_write> strips : array<vec4<Elem>, kVectors>;
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kVectors) { return; }
  let across = (i / (kStrip * kWalk)) % kStrips * kStrip + i % kStrip;
  let walk = (i / kStrip) % kWalk;
  let line = select(across * 4u, across, kAlongK == 1u);
  let k = select(walk, walk * 4u, kAlongK == 1u);
  var v : vec4<Elem>;
  if (line < kLines && k < products()) {
    let at = begin(i / (kStrip * kWalk * kStrips)) + line * kLineStep + k * kKStep;
    v = fetch(at, select(kLines - line, products() - k, kAlongK == 1u));
  }
  strips[i] = v;
}
//)wgsl"
