// What a kernel file may say beyond plain WGSL: hidden branches, buffers with loads, places in views.
#include "rlxgpu/wgsl/kernel_file.h"

#include <string>
#include <type_traits>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/base/fixed_string.h"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/wgsl/render.h"

namespace rlxgpu::core::testing {
namespace {

constexpr KernelFile kPickFile(R"wgsl(
//#params
const kCount = 8u;
//#end
//#place begin
fn begin(i : u32) -> u32 { return i; }
//#end
//#if FOUR
/*
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<vec4f>;
fn x_load4(i : u32) -> vec4f { return x[i / 4u]; }
//#end
fn pick(i : u32) -> f32 { return x_load4(begin(i)).y; }
*/
//#else
//#buffer x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_load(i : u32) -> f32 { return x[i]; }
//#end
fn pick(i : u32) -> f32 { return x_load(begin(i)); }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group : vec3u) {
  if (group.x < kCount) { y_put(group.x, pick(group.x)); }
}
)wgsl");

constexpr void pick_infer(Infer& infer) { infer.result(f32, infer.shape(0)); }

template <int kWidth>
constexpr void pick_emit(Emit& e) {
  const Shape& shape = e.call().operand(0).shape;
  e.dispatch(kPickFile)
      .number("kCount", shape.count())
      .place("begin", shape, e.view(0))
      .flag("FOUR", kWidth == 4)
      .buffer("x", e.operand(0), kWidth)
      .output("y", e.result())
      .grid(shape.count());
}
constexpr Variant kPickVariants[] = {{"one", nullptr, pick_emit<1>}, {"four", nullptr, pick_emit<4>}};
constexpr OpDef kPick{.name = "pick", .infer = pick_infer, .variants = kPickVariants};

std::string rendered(DType dtype, const char* variant) {
  Builder g;
  const Tensor x = transpose(slice(g.input("x", dtype, {2, 6, 8}), {0, 1, 0}, {2, 5, 8}), {0, 2, 1});
  g.output("y", apply(kPick, {x}, Site(std::source_location::current())));
  const Choice choices[] = {{"pick", variant}};
  CompileOptions options;
  options.choices = choices;
  const Program program = compile(g.graph(), kPortable, options);
  REQUIRE(std::string(program.error.view()) == "");
  Text text;
  render_kernel(view_of(program, kPortable).kernels, 0, text);
  return std::string(text.view());
}
bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

TEST_CASE("a hidden branch is used without its comment", "[wgsl]") {
  const std::string one = rendered(f32, "one"), four = rendered(f32, "four");
  CHECK(!has(one, "*/"));
  CHECK(!has(four, "*/"));
  CHECK(has(one, "return x_load(begin(i));"));
  CHECK(!has(one, "x_load4"));
  CHECK(has(four, "return x_load4(begin(i)).y;"));
  CHECK(!has(four, "return x_load(begin(i));"));
}

TEST_CASE("buffers are declared by their type and width", "[wgsl]") {
  CHECK(has(rendered(f32, "one"), "var<storage, read> x : array<f32>;\nfn x_load(i : u32) -> f32 { return x[i]; }"));
  CHECK(has(rendered(f32, "four"), "x : array<vec4<f32>>;"));
  CHECK(has(rendered(f16, "one"), "x : array<u32>;\nfn x_load(i : u32) -> f32 { return load_f16(x[i / 2u], i); }"));
  CHECK(has(rendered(bf16, "four"), "x : array<vec2<u32>>;\nfn x_load4(i : u32) -> vec4<f32> {"));
  CHECK(has(rendered(bf16, "four"), "fn load4_bf16("));
}

TEST_CASE("places are those of the view", "[wgsl]") {
  // Element (b, c, r) of the operand is at 8 + 48 b + c + 8 r.
  const std::string text = rendered(f32, "one");
  const size_t at = text.find("fn begin(");
  REQUIRE(at != std::string::npos);
  const std::string body = text.substr(at, text.find('}', at) - at);
  CHECK(has(body, "* 48u"));
  CHECK(has(body, "* 8u + 8u"));
}

// Whether a constant can be made of the file.
template <FixedString kText>
concept Compiles = requires { typename std::integral_constant<int, KernelFile(kText.text).size()>; };

TEST_CASE("a file with a mistake is no constant", "[wgsl]") {
  STATIC_REQUIRE(Compiles<"//#if A\nfn f() {}\n//#end\n">);
  STATIC_REQUIRE(!Compiles<"//#if A\nfn f() {}\n">);
  STATIC_REQUIRE(!Compiles<"//#end\n">);
  STATIC_REQUIRE(!Compiles<"//#else\n">);
  STATIC_REQUIRE(!Compiles<"//#inputs x\n//#end\n">);
  STATIC_REQUIRE(!Compiles<"//#slot\n//#end\n">);
  STATIC_REQUIRE(!Compiles<"//#params\nconst kCols = 64u\n//#end\n">);
}

TEST_CASE("a hidden branch must end", "[wgsl]") {
  STATIC_REQUIRE(!Compiles<"//#if A\n/*\nfn f() {}\n//#end\n">);
  STATIC_REQUIRE(Compiles<"//#if A\n/*\nfn f() {}\n*/\n//#end\n">);
}

// As kernel files include parts: a string that ends, another one, and the rest.
constexpr KernelFile kWithPart(
    R"wgsl(*/
//#params
const kFirst = 1u;
//#end
/*)wgsl"
#include "tests/compile/twice.part.wgsl"
    R"wgsl(*/
fn main() { twice(1.0f); }
//)wgsl");
static_assert(kWithPart.find(KernelFile::Kind::param, "kFirst") >= 0);
static_assert(kWithPart.find(KernelFile::Kind::slot, "twice") >= 0);

TEST_CASE("a part is text of the file that includes it, without marks", "[wgsl]") {
  std::string text;
  for (int i = 0; i < kWithPart.size(); ++i) text += kWithPart.text_of(kWithPart.piece(i));
  CHECK(
      text ==
      "\nconst kFirst = 1u;\n// Shared.\nfn twice(v : f32) -> f32 { return 2.0f * v; }\nfn main() { twice(1.0f); }\n");
  STATIC_REQUIRE(!Compiles<"//#if A\n/*\n/**/\nfn f() {}\n//*/\n*/\n//#end\n">);
}

}  // namespace
}  // namespace rlxgpu::core::testing
