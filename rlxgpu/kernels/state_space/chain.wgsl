/*/**/R"wgsl(*/
// From what every chunk of time does to a state (its own last state, were it to begin at zero, and its decay) to where every
// chunk begins, one number of the states for each invocation.
//#params
const kStates = 1024u;     // numbers in all states
const kChunks = 4u;
const kRow = 1024u;        // invocations in one row of the grid
//#end
//#raw parts
@group(0) @binding(0) var<storage, read> parts : array<f32>;
//#end
//#raw starts
@group(0) @binding(1) var<storage, read_write> starts : array<f32>;
//#end
//#if STATE
//#raw state
@group(0) @binding(2) var<storage, read_write> state : array<f32>;
//#end
//#end
//#slot start_of
fn start_of(i : u32) -> f32 { return state[i]; }
//#end
//#slot leave
fn leave(i : u32, h : f32) { state[i] = h; }
//#end

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kStates) { return; }
  var h = start_of(i);
  for (var chunk = 0u; chunk < kChunks; chunk++) {
    let at = chunk * kStates + i;
    starts[at] = h;
    h = h * parts[2u * at + 1u] + parts[2u * at];
  }
  leave(i, h);
}
//)wgsl"
