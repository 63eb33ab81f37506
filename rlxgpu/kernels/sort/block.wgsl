/*/**/R"wgsl(*/
// One workgroup sorts one block of kBlock neighbours along the axis: a bitonic network in workgroup memory. An entry is
// (key, column); entries are in the order of their keys, equal ones in that of their columns, so that no two are equal.
// Columns beyond the row are entries greater than all others. Of each sorted block the first kKeep entries are stored.
//#params
const kRows = 64u;
const kCols = 64u;       // as laid out: the largest number of columns
const kInner = 1u;       // elements between neighbours of one row
const kStored = 1u;      // blocks of a row
const kKeep = 64u;
const kDescending = 0u;  // 1: the greatest comes first
const kBlock = 64u;
const kLanes = 8u;
const kGridRow = 64u;    // workgroups in one row of the grid
//#end
//#extents
fn cols() -> u32 { return kCols; }
//#end
const_assert ((kBlock & (kBlock - 1u)) == 0u && kBlock >= 2u && kBlock <= 1024u);  // Naga wants the outer parentheses
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
//#slot key
fn key(v : f32) -> u32 { return bitcast<u32>(v); }
//#end
//#slot store
fn store(row : u32, run : u32, i : u32, entry : vec2u) {
  y_put((row / kInner) * (kKeep * kInner) + row % kInner + i * kInner, bitcast<i32>(entry.y));
}
//#end

var<workgroup> entries : array<vec2u, kBlock>;

fn comes_before(a : vec2u, b : vec2u) -> bool { return a.x < b.x || (a.x == b.x && a.y < b.y); }

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) group : vec3u, @builtin(local_invocation_index) id : u32) {
  let block = group.y * kGridRow + group.x;
  let row = block / kStored;
  if (row >= kRows) { return; }  // the same for the whole workgroup
  let first = (block % kStored) * kBlock;
  let start = (row / kInner) * (kCols * kInner) + row % kInner;
  for (var e = id; e < kBlock; e += kLanes) {
    let col = first + e;
    var entry = vec2u(0xffffffffu);
    if (col < cols()) {
      let k = key(x_at(start + col * kInner));
      entry = vec2u(select(k, ~k, kDescending == 1u), col);
    }
    entries[e] = entry;
  }
  for (var size = 2u; size <= kBlock; size *= 2u) {
    for (var stride = size / 2u; stride > 0u; stride /= 2u) {
      workgroupBarrier();
      for (var t = id; t < kBlock / 2u; t += kLanes) {
        let low = 2u * stride * (t / stride) + t % stride;
        let high = low + stride;
        let a = entries[low];
        let b = entries[high];
        if (comes_before(b, a) == ((low & size) == 0u)) {
          entries[low] = b;
          entries[high] = a;
        }
      }
    }
  }
  workgroupBarrier();
  for (var e = id; e < min(kKeep, kBlock); e += kLanes) { store(row, block % kStored, e, entries[e]); }
}
//)wgsl"
