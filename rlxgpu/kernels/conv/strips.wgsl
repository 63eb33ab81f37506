/*/**/R"wgsl(*/
// For adapters that run on a CPU: weights in strips (rlxgpu/kernels/matmul/pack.wgsl), and x with its zeros around it
// (padded.wgsl), so that the element under tap k is steps[k] behind the window's first one, wherever that is. A workgroup
// is one subgroup without barriers and owns kRows channels and 32 places of the result, four neighbours a lane, as in
// rlxgpu/kernels/matmul/packed.wgsl. Loads of x differ from lane to lane, hence cost as much as those of a matrix that had been
// laid out before; each is used kRows times from registers.
enable subgroups;
//#params
alias Acc = f32;           // floats are summed in f32, integers in 32 bits
const kGroups = 1u;
const kM = 64u;            // channels of the result in a group
const kK = 72u;            // products in a sum
const kSteps = 18u;        // of four products, an even number
const kOut1 = 16u;         const kOut2 = 16u;
const kN = 256u;           // places
const kStep0 = 0u;         const kStep1 = 18u;        const kStep2 = 1u;   // between windows, in padded x
const kGroup = 2592u;      // elements of a group of padded x
const kWeights = 1152u;    // vectors
const kRows = 32u;
const kTiles = 8u;
const kGridRow = 8u;       // workgroups in one row of the grid
//#end
const kTilesM = (kM + kRows - 1u) / kRows;
const kTilesN = (kN + 31u) / 32u;
const_assert kRows % 4u == 0u;
alias Four = vec4<Acc>;
alias Sums = array<array<Four, 4>, kRows / 4u>;  // four places of four channels
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
  y[i | 1u] = v.y;
  y[i | 2u] = v.z;
  y[i | 3u] = v.w;
}
//#end

fn row(u : Four, v : array<Four, 4>) -> Four { return (u.x * v[0] + u.y * v[1]) + (u.z * v[2] + u.w * v[3]); }

fn add(sums : ptr<function, Sums>, at : u32, v : array<Four, 4>) {
  for (var i = 0u; i < kRows / 4u; i++) {
    let u = weights[at + 4u * i];
    sums[i][0] += row(quadBroadcast(u, 0u), v);
    sums[i][1] += row(quadBroadcast(u, 1u), v);
    sums[i][2] += row(quadBroadcast(u, 2u), v);
    sums[i][3] += row(quadBroadcast(u, 3u), v);
  }
}

//#if KEPT
// Rows are stored by a loop that finds them here: see rlxgpu/kernels/matmul/packed.wgsl.
var<workgroup> kept : array<Four, kRows * 8u>;
//#end
//#if RAGGED
fn put_row(sum : Four, batch : u32, m : u32, n : u32) {
  let at = (batch * kM + m) * kN + n;
  for (var e = 0u; n < kN && e < min(4u, kN - n); e++) { y_put(at + e, sum[e]); }
}
//#else
fn put(sum : Four, batch : u32, m : u32, n : u32) {
  if (m < kM && n < kN) { y_put4((batch * kM + m) * kN + n, sum); }
}
//#end

// Where the window at a place begins, in its group of x.
fn begin(place : u32) -> u32 {
  let n = min(place, kN - 1u);
  return (n / (kOut1 * kOut2)) * kStep0 + ((n / kOut2) % kOut1) * kStep1 + (n % kOut2) * kStep2;
}
fn load(at : vec4u) -> Four { return Four(x[at.x], x[at.y], x[at.z], x[at.w]); }

// Elements under four taps, of which `more` are there: the others have weights of zero, and must be finite.
fn under(at : vec4u, step : vec4u, more : u32) -> array<Four, 4> {
  var v = array<Four, 4>(load(at + step.x), load(at + step.y), load(at + step.z), load(at + step.w));
  if (kK % 8u != 0u) {
    v[0] = select(Four(), v[0], more > 0u);
    v[1] = select(Four(), v[1], more > 1u);
    v[2] = select(Four(), v[2], more > 2u);
    v[3] = select(Four(), v[3], more > 3u);
  }
  return v;
}

@compute @workgroup_size(8)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32,
        @builtin(subgroup_invocation_id) id : u32) {
  let tile = group.y * kGridRow + group.x;
  let tile_n = tile % kTilesN;
  let tile_m = (tile / kTilesN) % kTilesM;
  let batch = tile / (kTilesN * kTilesM);  // image and group
  let n = tile_n * 32u + lane * 4u;
  let at = vec4u(begin(n), begin(n + 1u), begin(n + 2u), begin(n + 3u)) + batch * kGroup;
  let w0 = (batch % kGroups * kTilesM + tile_m) * kSteps * kRows + id % 4u;
  var sums : Sums;
  for (var step = 0u; step < kSteps; step += 2u) {
    add(&sums, w0 + step * kRows, under(at, steps[step], kK - min(kK, 4u * step)));
    add(&sums, w0 + (step + 1u) * kRows, under(at, steps[step + 1u], kK - min(kK, 4u * step + 4u)));
  }
  if (tile >= kTiles) { return; }
  let m = tile_m * kRows;
//#if KEPT
  for (var i = 0u; i < kRows / 4u; i++) {
    kept[32u * i + lane] = sums[i][0];
    kept[32u * i + 8u + lane] = sums[i][1];
    kept[32u * i + 16u + lane] = sums[i][2];
    kept[32u * i + 24u + lane] = sums[i][3];
  }
  for (var row = 0u; row < min(kRows, kM - m); row++) {
//#if RAGGED
    put_row(kept[row * 8u + lane], batch, m + row, n);
//#else
    put(kept[row * 8u + lane], batch, m + row, n);
//#end
  }
//#else
  for (var i = 0u; i < kRows / 4u; i++) {
    put(sums[i][0], batch, m + 4u * i, n);
    put(sums[i][1], batch, m + 4u * i + 1u, n);
    put(sums[i][2], batch, m + 4u * i + 2u, n);
    put(sums[i][3], batch, m + 4u * i + 3u, n);
  }
//#end
}
//)wgsl"
