/*/**/R"wgsl(*/
// Unpacks rows of blocks into the strips of f32 that matmul/packed.wgsl reads as its b: 32 rows of w, which are columns
// of the product, side by side in vectors of four. An invocation owns four rows and 32 neighbours of each.
//#params
const kN = 64u;
const kK = 256u;
const kElements = 32u;     // of a block
const kBytes = 34u;
const kCount = 1024u;      // invocations
const kRow = 1024u;        // in one row of the grid
//#end
//#raw w
@group(0) @binding(0) var<storage, read> w : array<u32>;
//#end
fn word(i : u32) -> u32 { return w[i]; }
/*)wgsl"
#include "rlxgpu/kernels/blocks/blocks.part.wgsl"
R"wgsl(*/
/*)wgsl"
#include "rlxgpu/kernels/blocks/part.part.wgsl"
R"wgsl(*/
//#slot unpack
fn unpack4(b : u32, j : u32) -> vec4f { return vec4f(unpack4xI8(word_at(b + 2u + j))) * half_at(b); }
//#end
//#slot part
fn part_of(b : u32, s : u32) -> Part {
  var codes : array<vec4f, 8>;
  for (var i = 0u; i < 8u; i++) { codes[i] = unpack4(b, s * 32u + i * 4u); }
  return Part(codes, vec2f(1.0f), vec2f());
}
//#end
//#raw strips
@group(0) @binding(1) var<storage, read_write> strips : array<vec4f>;
//#end

fn numbers(row : u32, s : u32) -> array<vec4f, 8> {
  let p = part_of(min(row, kN - 1u) * (kK / kElements * kBytes) + s / (kElements / 32u) * kBytes, s % (kElements / 32u));
  var all : array<vec4f, 8>;
  for (var i = 0u; i < 8u; i++) { all[i] = p.codes[i] * p.scale[i / 4u] + p.least[i / 4u]; }
  return all;
}

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) invocation : vec3u) {
  let i = invocation.y * kRow + invocation.x;
  if (i >= kCount) { return; }
  let s = i / 8u % (kK / 32u);
  let tile = i / (8u * (kK / 32u));
  let row = tile * 32u + i % 8u * 4u;
  let a = numbers(row, s);
  let b = numbers(row + 1u, s);
  let c = numbers(row + 2u, s);
  let d = numbers(row + 3u, s);
  for (var k = 0u; k < 8u; k++) {
    let across = transpose(mat4x4f(a[k], b[k], c[k], d[k]));
    let at = (tile * kK + s * 32u + k * 4u) * 8u + i % 8u;
    strips[at] = across[0];
    strips[at + 8u] = across[1];
    strips[at + 16u] = across[2];
    strips[at + 24u] = across[3];
  }
}
//)wgsl"
