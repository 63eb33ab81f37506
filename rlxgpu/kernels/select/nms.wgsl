/*/**/R"wgsl(*/
// A workgroup chooses boxes of one class of one batch, best first. Candidates stand in the order of their scores; a lane owns
// candidates lane, lane + kLanes, ... In each round every lane strikes out those of its own that overlap the box chosen last, and
// says which of the rest is its best; the best of all lanes is chosen next.
//#params
const kBoxes = 16u;
const kClasses = 1u;
const kMost = 4u;          // boxes to choose, 1 at least
const kLanes = 64u;
const kOverlap = 0.5f;
const kScore = 0.0f;       // candidates must be above it
const kAny = false;        // whatever their score
const kCenters = false;    // boxes are (x, y, width, height) of their middles, not two corners
const kGroups = 1u;
const kGridRow = 1u;       // workgroups in one row of the grid
//#end
//#input boxes
@group(0) @binding(0) var<storage, read> boxes : array<f32>;
fn boxes_at(i : u32) -> f32 { return boxes[i]; }
//#end
//#input scores
@group(0) @binding(1) var<storage, read> scores : array<f32>;
fn scores_at(i : u32) -> f32 { return scores[i]; }
//#end
//#input order
@group(0) @binding(2) var<storage, read> order : array<i32>;
fn order_at(i : u32) -> i32 { return order[i]; }
//#end
//#raw struck
@group(0) @binding(3) var<storage, read_write> struck : array<u32>;
//#end
//#output y
@group(0) @binding(4) var<storage, read_write> y : array<i32>;
fn y_put(i : u32, v : i32) { y[i] = v; }
//#end
const kNone = 0xffffffffu;
var<workgroup> best : atomic<u32>;
var<workgroup> chosen : u32;

// Lower and upper corner.
fn corners(i : u32) -> vec4f {
  let b = vec4f(boxes_at(4u * i), boxes_at(4u * i + 1u), boxes_at(4u * i + 2u), boxes_at(4u * i + 3u));
  if (kCenters) { return vec4f(b.xy - b.zw * 0.5f, b.xy + b.zw * 0.5f); }
  return vec4f(min(b.xy, b.zw), max(b.xy, b.zw));
}
fn overlaps(a : vec4f, b : vec4f) -> bool {
  let side = max(min(a.zw, b.zw) - max(a.xy, b.xy), vec2f());
  let joint = side.x * side.y;
  let of_a = (a.z - a.x) * (a.w - a.y);
  let of_b = (b.z - b.x) * (b.w - b.y);
  return joint > 0.0f && of_a > 0.0f && of_b > 0.0f && joint / (of_a + of_b - joint) > kOverlap;
}

@compute @workgroup_size(kLanes)
fn main(@builtin(workgroup_id) id : vec3u, @builtin(local_invocation_index) lane : u32) {
  let group = min(id.y * kGridRow + id.x, kGroups - 1u);
  let first = group * kBoxes;
  let first_box = (group / kClasses) * kBoxes;
  if (lane == 0u) { atomicStore(&best, kNone); }
  workgroupBarrier();
  for (var i = lane; i < kBoxes; i += kLanes) {
    let candidate = kAny || scores_at(first + u32(order_at(first + i))) > kScore;
    struck[first + i] = select(1u, 0u, candidate);
    if (candidate) { atomicMin(&best, i); }
  }
  for (var round = 0u; round < kMost; round++) {
    workgroupBarrier();
    if (lane == 0u) {
      chosen = atomicLoad(&best);
      atomicStore(&best, kNone);
    }
    let now = workgroupUniformLoad(&chosen);
    let box = select(0u, u32(order_at(first + min(now, kBoxes - 1u))), now != kNone);
    if (lane == 0u) { y_put(group * kMost + round, select(-1, i32(box), now != kNone)); }
    if (now != kNone) {
      let own = corners(first_box + box);
      for (var i = lane; i < kBoxes; i += kLanes) {
        if (i > now && struck[first + i] == 0u) {
          if (overlaps(own, corners(first_box + u32(order_at(first + i))))) {
            struck[first + i] = 1u;
          } else {
            atomicMin(&best, i);
          }
        }
      }
    }
  }
}
//)wgsl"
