// Tables are computed when a program is loaded, and slots of kernel files are written when it is rendered: by a graph
// of the compiler, one planned at run time, and one that went through JSON.
#include <bit>
#include <vector>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/executable.h"
#include "rlxgpu/tools/program_json.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

inline constexpr KernelFile kShiftFile(R"wgsl(
//#input x
@group(0) @binding(0) var<storage, read> x : array<f32>;
fn x_at(i : u32) -> f32 { return x[i]; }
//#end
//#output y
@group(0) @binding(1) var<storage, read_write> y : array<f32>;
fn y_put(i : u32, v : f32) { y[i] = v; }
//#end
//#raw table
@group(0) @binding(2) var<storage, read> table : array<f32>;
//#end
//#slot factor
fn factor() -> f32 { return 1.0f; }
//#end
@compute @workgroup_size(1)
fn main(@builtin(workgroup_id) group : vec3u) { y_put(group.x, x_at(group.x) * factor() + table[group.x]); }
)wgsl");

int filled = 0;  // times a table was computed

constexpr void shift_emit(Emit& e) {
  const int64_t count = e.call().operand(0).shape.count();
  Table table;
  table.fill = [](std::span<const int64_t> args, std::span<uint32_t> words) {
    ++filled;
    for (size_t i = 0; i < words.size(); ++i)
      words[i] = std::bit_cast<uint32_t>(static_cast<float>(args[0]) + static_cast<float>(i));
  };
  table.args = {e.attr(0)};
  const SlotWriter factor = [](Text& out, std::span<const int64_t> args) {
    out << "fn factor() -> f32 { return f32(" << args[0] << "); }";
  };
  e.dispatch(kShiftFile)
      .input("x", e.operand(0))
      .output("y", e.result())
      .raw("table", e.table(f32, {count}, table))
      .slot("factor", factor, {e.attr(1)})
      .grid(count);
}
inline constexpr Variant kShiftVariants[] = {{"plain", nullptr, shift_emit}};
// y[i] = x[i] * attr(1) + attr(0) + i.
inline constexpr OpDef kShift{
    .name = "shift",
    .infer = [](Infer& infer) { infer.result(f32, infer.shape(0)); },
    .variants = kShiftVariants,
};

struct Shifts {
  static constexpr void build(Builder& g) {
    const Site site = std::source_location::current();
    const Tensor x = g.input("x", f32, {5}), z = g.input("z", f32, {5});
    g.output("a", apply(kShift, {x}, {100, 2}, site));
    g.output("b", apply(kShift, {z}, {100, 2}, site));  // like the one before it
    g.output("c", apply(kShift, {x}, {100, 3}, site));  // the same table in another kernel
    g.output("d", apply(kShift, {z}, {-50, 3}, site));  // another table in the same kernel
  }
};

const std::vector<float> kX = {1, 2, 3, 4, 5}, kZ = {10, 20, 30, 40, 50};

template <typename Executable>
void check_shifts(Executable& executable) {
  REQUIRE(executable.set("x", kX).ToString() == "OK");
  REQUIRE(executable.set("z", kZ).ToString() == "OK");
  executable.run();
  CHECK(*executable.template get<float>("a") == std::vector<float>{102, 105, 108, 111, 114});
  CHECK(*executable.template get<float>("b") == std::vector<float>{120, 141, 162, 183, 204});
  CHECK(*executable.template get<float>("c") == std::vector<float>{103, 107, 111, 115, 119});
  CHECK(*executable.template get<float>("d") == std::vector<float>{-20, 11, 42, 73, 104});
}

TEST_CASE("tables and written slots", "[runtime][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  Shifts::build(*graph);
  const Program program = compile(graph.graph(), kPortable);
  CHECK(program.kernels.specs.size() == 2);
  filled = 0;
  auto executable = Executable<DynamicGraph>::create(device, graph);
  REQUIRE(executable.status().ToString() == "OK");
  CHECK(filled == 2);
  check_shifts(*executable);
}

TEST_CASE("tables and written slots of a constant program", "[runtime][gpu]") {
  const Device device = device_or_skip();
  Executable<Shifts> executable(device);
  executable.set<"x">(kX);
  executable.set<"z">(kZ);
  executable.run();
  const auto d = executable.get<"d">();
  CHECK(*d == std::vector<float>{-20, 11, 42, 73, 104});
}

TEST_CASE("tables in JSON", "[runtime]") {
  DynamicGraph graph;
  Shifts::build(*graph);
  const RenderedProgram rendered = render(compile(graph.graph(), kPortable), kPortable);
  const auto json = tools::to_json(rendered.view(), rendered.texts());
  const auto stored = tools::program_from_json(json);
  REQUIRE(stored.status().ToString() == "OK");
  CHECK(tools::to_json(stored->view(), stored->texts()) == json);
  int tables = 0;
  for (const BufferDecl& buffer : stored->view().buffers) {
    if (buffer.role != BufferRole::constant) continue;
    const auto words = slice(stored->view().words, buffer.words);
    CHECK(std::bit_cast<float>(words[2]) == (tables == 0 ? 102.0f : -48.0f));
    ++tables;
  }
  CHECK(tables == 2);
}

}  // namespace
}  // namespace rlxgpu::core::testing
