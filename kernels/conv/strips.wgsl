/*/**/R"wgsl(*/
// For adapters that run on a CPU: weights in strips (kernels/matmul/pack.wgsl), and x with its zeros around it
// (padded.wgsl), so that the element under tap k is steps[k] behind the window's first one, wherever that is. A workgroup
// is one subgroup without barriers and owns 4 * kRows channels and 32 places of the result, four neighbours a lane, as in
// kernels/matmul/packed.wgsl. Loads of x differ from lane to lane, hence cost as much as those of a matrix that had been
// laid out before; each is used 4 * kRows times from registers.
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kGroups = 1u;
const kM = 64u;            // channels of the result in a group
const kK = 72u;            // products in a sum
const kOut1 = 16u;         const kOut2 = 16u;
const kN = 256u;           // places
const kStep0 = 0u;         const kStep1 = 18u;        const kStep2 = 1u;   // between windows, in padded x
const kGroup = 2592u;      // elements of a group of padded x
const kWeights = 1152u;    // vectors
const kWTile = 1152u;      // vectors of a tile
const kRows = 16u;
const kTiles = 8u;
const kGridRow = 8u;       // workgroups in one row of the grid
//#end
const kTilesM = (kM + 4u * kRows - 1u) / (4u * kRows);
const kTilesN = (kN + 31u) / 32u;
const_assert kRows <= 32u;  // more are not unrolled by Mesa
alias Four = vec4<Acc>;
alias Sums = array<Four, kRows>;
//#raw weights
@group(0) @binding(0) var<storage, read> weights : array<vec4<Acc>, kWeights>;
//#end
//#raw x
@group(0) @binding(1) var<storage, read> x : array<Acc>;
//#end
//#raw steps
@group(0) @binding(2) var<storage, read> steps : array<vec4u>;
//#end
//#output y
@group(0) @binding(3) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
fn y_put4(i : u32, v : vec4f) {
  y[i] = v.x;
  y[i + 1u] = v.y;
  y[i + 2u] = v.z;
  y[i + 3u] = v.w;
}
//#end

fn add(sums : ptr<function, Sums>, at : u32, x0 : Four, x1 : Four, x2 : Four, x3 : Four) {
  for (var i = 0u; i < kRows; i++) {
    let u = weights[at + i];
    sums[i] += (u.x * x0 + u.y * x1) + (u.z * x2 + u.w * x3);
  }
}

fn put(sums : ptr<function, Sums>, batch : u32, m0 : u32, n : u32) {
  for (var i = 0u; i < kRows; i++) {
    let at = (batch * kM + m0 + i) * kN + n;
    if (m0 + i >= kM || n >= kN) { continue; }
    if (kN % 4u == 0u) {
      y_put4(at, sums[i]);
    } else {
      y_put(at, sums[i].x);
      if (n + 1u < kN) { y_put(at + 1u, sums[i].y); }
      if (n + 2u < kN) { y_put(at + 2u, sums[i].z); }
      if (n + 3u < kN) { y_put(at + 3u, sums[i].w); }
    }
  }
}

// Where the window at a place begins, in its group of x.
fn begin(place : u32) -> u32 {
  let n = min(place, kN - 1u);
  return (n / (kOut1 * kOut2)) * kStep0 + ((n / kOut2) % kOut1) * kStep1 + (n % kOut2) * kStep2;
}
fn load(at : vec4u) -> Four { return Four(x[at.x], x[at.y], x[at.z], x[at.w]); }

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let tile = group.y * kGridRow + group.x;
  if (tile >= kTiles) { return; }
  let tile_n = tile % kTilesN;
  let tile_m = (tile / kTilesN) % kTilesM;
  let batch = tile / (kTilesN * kTilesM);  // image and group
  let n = tile_n * 32u + lane * 4u;
  let at = vec4u(begin(n), begin(n + 1u), begin(n + 2u), begin(n + 3u)) + batch * kGroup;
  let w0 = (batch % kGroups * kTilesM + tile_m) * kWTile;
  var s0 : Sums;
  var s1 : Sums;
  var s2 : Sums;
  var s3 : Sums;
  for (var k = 0u; k < kK; k += 4u) {
    let step = steps[k / 4u];
    let x0 = load(at + step.x);
    var x1 = load(at + step.y);
    var x2 = load(at + step.z);
    var x3 = load(at + step.w);
    if (kK % 4u != 0u) {  // what is not there has weights of zero, and must be finite
      x1 = select(Four(), x1, k + 1u < kK);
      x2 = select(Four(), x2, k + 2u < kK);
      x3 = select(Four(), x3, k + 3u < kK);
    }
    let wt = w0 + k * kRows;
    add(&s0, wt, x0, x1, x2, x3);
    add(&s1, wt + kRows, x0, x1, x2, x3);
    add(&s2, wt + 2u * kRows, x0, x1, x2, x3);
    add(&s3, wt + 3u * kRows, x0, x1, x2, x3);
  }
  let m0 = tile_m * 4u * kRows;
  put(&s0, batch, m0, n);
  put(&s1, batch, m0 + kRows, n);
  put(&s2, batch, m0 + 2u * kRows, n);
  put(&s3, batch, m0 + 3u * kRows, n);
}
//)wgsl"
