/*/**/R"wgsl(*/
// Sorts rows by their expert, each expert's in their order, into tiles of kTile rows of one expert:
//     experts of rows   2 0 2 2 1           tiles (kTile = 2)   expert 0: 1 -   expert 1: 4 -   expert 2: 0 2   3 -
// order holds the rows of tile t from t * kTile on (kNone where there is none), tiles the expert of each tile. One
// workgroup; each invocation owns some experts and looks at all rows, so that the order does not depend on chance.
//#params
const kRows = 64u;
const kExperts = 8u;       // and one more, for rows whose expert does not exist
const kTile = 16u;
const kTiles = 12u;        // enough, however the rows are spread
//#end
const kNone = 0xffffffffu;
//#input expert
@group(0) @binding(0) var<storage, read> expert : array<u32>;
fn expert_at(i : u32) -> u32 { return expert[i]; }
//#end
//#raw order
@group(0) @binding(1) var<storage, read_write> order : array<u32, kTiles * kTile>;
//#end
//#raw tiles
@group(0) @binding(2) var<storage, read_write> tiles : array<u32, kTiles>;
//#end
//#raw first
@group(0) @binding(3) var<storage, read_write> first : array<u32, kExperts + 2u>;  // tile of each expert
//#end

fn group_of(row : u32) -> u32 { return min(u32(expert_at(row)), kExperts); }

@compute @workgroup_size(64)
fn main(@builtin(local_invocation_index) lane : u32) {
  for (var e = lane; e <= kExperts; e += 64u) {
    var count = 0u;
    for (var row = 0u; row < kRows; row++) { count += select(0u, 1u, group_of(row) == e); }
    first[e] = (count + kTile - 1u) / kTile;
  }
  storageBarrier();
  if (lane == 0u) {
    var sum = 0u;
    for (var e = 0u; e <= kExperts; e++) {
      let count = first[e];
      first[e] = sum;
      sum += count;
    }
    first[kExperts + 1u] = sum;
  }
  storageBarrier();
  for (var t = first[kExperts + 1u] + lane; t < kTiles; t += 64u) { tiles[t] = kNone; }
  for (var e = lane; e <= kExperts; e += 64u) {
    var at = first[e] * kTile;
    let end = first[e + 1u] * kTile;
    for (var t = first[e]; t < first[e + 1u]; t++) { tiles[t] = e; }
    for (var row = 0u; row < kRows; row++) {
      if (group_of(row) == e) {
        order[at] = row;
        at++;
      }
    }
    for (; at < end; at++) { order[at] = kNone; }
  }
}
//)wgsl"
