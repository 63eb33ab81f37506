/*/**/R"wgsl(*/
// Adds integer updates where their indices say, each with an atomic: sums of integers are the same in any order. Where
// there are few places (a histogram), a workgroup adds up its own updates first, so that few atomics meet in memory.
// Tensors have eight axes here, the first ones of extent 1.
//#params
alias Elem = i32;
alias IndexType = i32;
const kCount = 64u;    // updates, as laid out
const kEach = 1u;      // for each invocation
const kPlaces = 64u;   // elements of the result, or 1 where they are not added up by workgroups
const kRow = 1u;       // workgroups in one row of the grid
const kAxis = 7u;
// Extents of x, and of the updates as laid out.
const kX0 = 1u;
const kX1 = 1u;
const kX2 = 1u;
const kX3 = 1u;
const kX4 = 1u;
const kX5 = 1u;
const kX6 = 1u;
const kX7 = 64u;
const kU0 = 1u;
const kU1 = 1u;
const kU2 = 1u;
const kU3 = 1u;
const kU4 = 1u;
const kU5 = 1u;
const kU6 = 1u;
const kU7 = 64u;
//#end
//#extents
fn extent0() -> u32 { return 1u; }
fn extent1() -> u32 { return 1u; }
fn extent2() -> u32 { return 1u; }
fn extent3() -> u32 { return 1u; }
fn extent4() -> u32 { return 1u; }
fn extent5() -> u32 { return 1u; }
fn extent6() -> u32 { return 1u; }
fn extent7() -> u32 { return 64u; }
//#end
//#input indices
@group(0) @binding(0) var<storage, read> indices : array<i32>;
fn indices_at(i : u32) -> i32 { return indices[i]; }
//#end
//#input updates
@group(0) @binding(1) var<storage, read> updates : array<i32>;
fn updates_at(i : u32) -> i32 { return updates[i]; }
//#end
//#raw sums
@group(0) @binding(2) var<storage, read_write> sums : array<atomic<u32>>;
//#end
//#slot place
fn place(v : IndexType, extent : u32) -> u32 { return bitcast<u32>(select(v, v + i32(extent), v < 0)); }
//#end

const kX = array<u32, 8>(kX0, kX1, kX2, kX3, kX4, kX5, kX6, kX7);
const kU = array<u32, 8>(kU0, kU1, kU2, kU3, kU4, kU5, kU6, kU7);

// Of the updates.
fn extent(axis : u32) -> u32 {
  switch (axis) {
    case 0u: { return extent0(); }
    case 1u: { return extent1(); }
    case 2u: { return extent2(); }
    case 3u: { return extent3(); }
    case 4u: { return extent4(); }
    case 5u: { return extent5(); }
    case 6u: { return extent6(); }
    default: { return extent7(); }
  }
}
//#if SHARED

var<workgroup> own : array<atomic<u32>, kPlaces>;  // zero at first
//#end

@compute @workgroup_size(64)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) lane : u32) {
  let first = (group.y * kRow + group.x) * kEach * 64u + lane;
  for (var n = 0u; n < kEach; n++) {
    let i = first + n * 64u;
    if (i < kCount) {
      var rest = i;
      var step = 1u;
      var to = 0u;
      var inside = true;
      for (var axis = 8u; axis > 0u;) {
        axis--;
        var c = rest % kU[axis];
        rest /= kU[axis];
        inside = inside && c < extent(axis);
        if (axis == kAxis) {
          c = place(indices_at(i), kX[axis]);
          inside = inside && c < kX[axis];
        }
        to += c * step;
        step *= kX[axis];
      }
      if (inside) {
        let update = bitcast<u32>(updates_at(i));
//#if SHARED
        atomicAdd(&own[to], update);
//#else
        atomicAdd(&sums[to], update);
//#end
      }
    }
  }
//#if SHARED
  workgroupBarrier();
  for (var to = lane; to < kPlaces; to += 64u) {
    let sum = atomicLoad(&own[to]);
    if (sum != 0u) { atomicAdd(&sums[to], sum); }
  }
//#end
}
//)wgsl"
