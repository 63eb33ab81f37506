/*/**/R"wgsl(*/
// Copies matrices of any layout into rows along k that begin and end at whole vectors; what is added is zero.
//#params
alias Elem = f32;
const kFours = 1024u;      // vectors of four written, of all matrices
const kLines = 64u;        // rows of a, columns of b
const kK = 64u;
const kPadded = 64u;       // k as written, a multiple of four
const kLinesFirst = 1u;    // of an element's index in x: 1: line, then k; 0: k, then line
const kRow = 1024u;        // invocations in one row of the grid
//#end
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put4(i : u32, v : vec4<Elem>) {
  for (var j = 0u; j < 4u; j++) { y[i + j] = v[j]; }
}
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kFours) { return; }
  let k0 = i * 4u % kPadded;
  let line = i * 4u / kPadded % kLines;
  let begin = i * 4u / kPadded / kLines * kLines * kK;
  var v : vec4<Elem>;
  for (var j = 0u; j < 4u && k0 + j < kK; j++) {
    let k = k0 + j;
    v[j] = x_at(begin + select(k * kLines + line, line * kK + k, kLinesFirst == 1u));
  }
  y_put4(i * 4u, v);
}
//)wgsl"
