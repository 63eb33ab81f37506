/*/**/R"wgsl(*/
// Merges sorted runs of entries (block.wgsl), kWays of them at once. Each invocation has one entry: its place in the merged
// run is its place in its own run and the number of entries in the others that come before it, found by halving. Of each
// merged run the first kKeep entries are stored. A run that is missing at the end is one of greatest entries.
//#params
const kRows = 64u;
const kRuns = 2u;     // in a row
const kWidth = 64u;   // entries of a run
const kStored = 1u;   // runs of a row after merging
const kInner = 1u;
const kKeep = 128u;
const kWays = 2u;
const kRow = 64u;     // invocations in one row of the grid
//#end
//#input given
@group(0) @binding(0) var<storage, read> given : array<u32>;
fn given_at(i : u32) -> u32 { return given[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#slot store
fn store(row : u32, run : u32, i : u32, entry : vec2u) {
  y_put((row / kInner) * (kKeep * kInner) + row % kInner + i * kInner, bitcast<i32>(entry.y));
}
//#end

fn comes_before(a : vec2u, b : vec2u) -> bool { return a.x < b.x || (a.x == b.x && a.y < b.y); }
fn entry_of(row : u32, run : u32, i : u32) -> vec2u {
  if (run >= kRuns) { return vec2u(0xffffffffu); }
  let at = 2u * ((row * kRuns + run) * kWidth + i);
  return vec2u(given_at(at), given_at(at + 1u));
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let t = invocation.y * kRow + invocation.x;
  let i = t % kWidth;
  let side = (t / kWidth) % kWays;
  let merged = (t / kWidth / kWays) % kStored;
  let row = t / kWidth / kWays / kStored;
  if (row >= kRows) { return; }
  let mine = entry_of(row, kWays * merged + side, i);
  var place = i;
  for (var way = 1u; way < kWays && place < kKeep; way++) {
    let other = (side + way) % kWays;
    var low = 0u;
    var high = kWidth;
    while (low < high) {
      let middle = (low + high) / 2u;
      let theirs = entry_of(row, kWays * merged + other, middle);
      // Of equal entries, which are missing ones, the first run's come first.
      let precedes = select(comes_before(theirs, mine), !comes_before(mine, theirs), other < side);
      low = select(low, middle + 1u, precedes);
      high = select(middle, high, precedes);
    }
    place += low;
  }
  if (place < kKeep) { store(row, merged, place, mine); }
}
//)wgsl"
