/*/**/R"wgsl(*/
// Copies a view whose last axis is not contiguous in memory, while another axis is: an invocation turns a square of 4 x 4 words in
// registers, so that every load and every store is a whole vector:
//        x: along the other axis ->        y: along the last axis ->
//           u0  a b c d                       a e i m
//           u1  e f g h           ->          b f j n
//           u2  i j k l                       c g k o
//           u3  m n o p                       d h l p
// 8 x 8 invocations side by side (8 on a CPU) fill whole cache lines on both sides.
//#params
const kXWords4 = 1024u;  // vectors of x
const kYWords4 = 1024u;
const kRows = 64u;       // along the axis that is contiguous in x
const kCols = 64u;       // along the last axis of y
const kXCol = 64u;       // between neighbours along that axis in x
const kYRow = 64u;       // between neighbours along the other axis in y
const kTall = 8u;        // invocations of a workgroup along the rows
const kTiles = 4u;       // workgroups in all
const kGridRow = 4u;     // workgroups in one row of the grid
//#end
const kTilesR = (kRows / 4u + kTall - 1u) / kTall;
const kTilesC = (kCols / 4u + 7u) / 8u;
//#raw x
@group(0) @binding(0) var<storage, read> x : array<vec4u, kXWords4>;
//#end
//#raw y
@group(0) @binding(1) var<storage, read_write> y : array<vec4u, kYWords4>;
//#end
// Where a matrix of the two axes begins.
//#place x_begin
fn x_begin(i : u32) -> u32 { return i * kRows * kCols; }
//#end
//#place y_begin
fn y_begin(i : u32) -> u32 { return i * kRows * kCols; }
//#end

@compute @workgroup_size(8, kTall)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_id) lane : vec3u) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let c = (tile % kTilesC * 8u + lane.x) * 4u;
  let r = (tile / kTilesC % kTilesR * kTall + lane.y) * 4u;
  if (c >= kCols || r >= kRows) { return; }
  let matrix = tile / (kTilesC * kTilesR);
  let source = (x_begin(matrix) + c * kXCol + r) / 4u;
  let u0 = x[source];
  let u1 = x[source + kXCol / 4u];
  let u2 = x[source + 2u * kXCol / 4u];
  let u3 = x[source + 3u * kXCol / 4u];
  let to = (y_begin(matrix) + r * kYRow + c) / 4u;
  y[to] = vec4u(u0.x, u1.x, u2.x, u3.x);
  y[to + kYRow / 4u] = vec4u(u0.y, u1.y, u2.y, u3.y);
  y[to + 2u * kYRow / 4u] = vec4u(u0.z, u1.z, u2.z, u3.z);
  y[to + 3u * kYRow / 4u] = vec4u(u0.w, u1.w, u2.w, u3.w);
}
//)wgsl"
