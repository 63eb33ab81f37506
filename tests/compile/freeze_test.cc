// The program that the compiler makes is the one that is made at run time, and always the same.
#include "rlxgpu/compile/freeze.h"

#include <string>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "rlxgpu/wgsl/render.h"
#include "tests/executable/accumulate.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

struct Attention {
  static constexpr void build(Builder& g) {
    const Dim n = g.extent("n", 16);
    const Tensor x = g.input("x", f16, {n, 32}), w = g.param("w", f16, {32, 32});
    const Tensor scale = g.scalar("scale", f32);
    const Tensor q = matmul(x, w), scores = matmul(q, transpose(x));
    const Tensor p = softmax(cast(scores, f32) * scale);
    g.output("y", matmul(p, x) + mean(cast(x, f32), 1, {.keep_dims = true}));
    g.output("best", reduce_max(p, 1));
  }
};

inline constexpr Target kSoftware = [] {
  Target target;
  target.adapter_class = AdapterClass::software;
  target.subgroups = true, target.subgroup_min = target.subgroup_max = 8;
  return target;
}();

// Everything that is executed: steps with their tensors and grids, and every kernel's text.
std::string text_of(const ProgramView& program) {
  Text text = listing(program);
  for (size_t k = 0; k < program.kernels.specs.size(); ++k) render_kernel(program.kernels, static_cast<int>(k), text);
  for (const TensorDecl& tensor : program.tensors)
    text << tensor.buffer << ' ' << tensor.offset << ' ' << tensor.bytes << '\n';
  for (const BufferDecl& buffer : program.buffers) text << static_cast<int>(buffer.role) << ' ' << buffer.bytes << '\n';
  for (const uint32_t word : program.words) text << word << '\n';
  return std::string(text.view());
}

template <const Target& kTarget>
void check_same() {
  constexpr const ProgramView& frozen = Frozen<Attention, kTarget>::view;
  STATIC_REQUIRE(frozen.steps.size() > 2);
  STATIC_REQUIRE(check(frozen).empty());
  const Program program = compiled(Attention::build, {}, kTarget);
  CHECK(text_of(frozen) == text_of(view_of(program, kTarget)));
}

TEST_CASE("a frozen program is the one made at run time", "[compile]") {
  check_same<kPortable>();
  check_same<kSoftware>();
}

TEST_CASE("a kernel's text is a constant", "[compile]") {
  std::string constant;
  KernelText<Attention, kPortable, 0>::append_to(constant);
  Text text;
  render_kernel(Frozen<Attention, kPortable>::view.kernels, 0, text);
  CHECK(constant == std::string(text.view()));
}

TEST_CASE("the same graph gives the same program", "[compile]") {
  const Program once = compiled(Attention::build), again = compiled(Attention::build);
  CHECK(text_of(view_of(once, kPortable)) == text_of(view_of(again, kPortable)));
}

// All kinds of nodes, an output in the middle, and a state that is changed.
struct Kinds {
  static constexpr void build(Builder& g) {
    const Dim n = g.extent("n", 16);
    const Tensor x = g.input("x", f32, {n, 4}), scale = g.scalar("scale", f32);
    Tensor sum = g.state("sum", f32, {4});
    Tensor y = x * scale + 0.5f;
    g.output("early", y);
    for (int i = 0; i < 3; ++i) {
      Text name;
      name << "w" << i;
      y = y + g.param(name.view(), f32, {4});
      sum = accumulate(sum, mean(y, 0));
    }
    const uint32_t words[] = {1, 2, 3, 4};
    g.output("y", cast(y, i32) + g.constant(i32, {4}, words));
    g.output("rows", g.extent_value(n) + 1);
  }
};
struct TakenName {
  static constexpr void build(Builder& g) {
    Kinds::build(g);
    g.output("again", g.input("w0", f32, {4}));
  }
};
struct Empty {
  static constexpr void build(Builder& g) { g.input("x", f32, {4}); }
};

std::string text_of(const Graph& graph) {
  Text text;
  const auto add = [&](const auto&... items) { ((text << items << ' '), ...); };
  const auto add_range = [&](Range range) { add(range.first, range.count); };
  for (const Node& node : graph.nodes) {
    add(static_cast<int>(node.kind), node.op == nullptr ? std::string_view("-") : node.op->name, node.scalar);
    add_range(node.operands), add_range(node.attrs), add_range(node.results), add_range(node.name);
    add_range(node.words);
  }
  for (const Value& value : graph.values) {
    add(name_of(value.dtype), value.shape, value.node, static_cast<int>(value.changed));
    for (int axis = 0; axis < value.shape.rank(); ++axis) add(value.shape.symbol(axis));
  }
  for (const int32_t operand : graph.operands) add(operand);
  for (const int64_t attr : graph.attrs) add(attr);
  for (const uint32_t word : graph.words) add(word);
  for (const int32_t scalar : graph.scalars) add(scalar);
  for (const Output& output : graph.outputs) add_range(output.name), add(output.value);
  add(graph.names, graph.error);
  return std::string(text.view());
}

template <typename G, size_t kNodes>
Graph traced_by() {
  constexpr size_t kLast = internal::last_part<G, kNodes>();
  STATIC_REQUIRE(kLast != internal::kNoPart);
  STATIC_REQUIRE(kLast > 2);
  return internal::TracedBy<G, kNodes, kLast>::trace();
}

TEST_CASE("a graph that is traced in parts is the graph", "[compile]") {
  const std::string whole = text_of(internal::trace<Kinds>());
  CHECK(text_of(traced_by<Kinds, 1>()) == whole);
  CHECK(text_of(traced_by<Kinds, 2>()) == whole);
  CHECK(text_of(traced_by<Kinds, 7>()) == whole);
}

TEST_CASE("an error in a later part is the error", "[compile]") {
  const Graph graph = traced_by<TakenName, 5>();
  CHECK(graph.error.view().ends_with("input \"w0\": the name is taken"));
  CHECK(graph.error.view() == internal::trace<TakenName>().error.view());
  STATIC_REQUIRE(internal::kTracedSizes<TakenName>.error != 0);
  STATIC_REQUIRE(internal::kTracedSizes<Empty>.error ==
                 std::string_view("the graph has no output and changes no state").size());
}

TEST_CASE("names and types come from the graph", "[compile]") {
  STATIC_REQUIRE(find_tensor<Kinds>("w2").type == TensorType{f32, {4}});
  STATIC_REQUIRE(find_tensor<Kinds>("w2").kind == NodeKind::param);
  STATIC_REQUIRE(find_tensor<Kinds>("y").type.shape.dynamic());
  STATIC_REQUIRE(find_tensor<Kinds>("y").kind == NodeKind::op);
  STATIC_REQUIRE(!find_tensor<Kinds>("w").found);
  STATIC_REQUIRE(!find_tensor<Kinds>("scale").found);
  STATIC_REQUIRE(find_scalar<Kinds>("scale").found);
  STATIC_REQUIRE(find_scalar<Kinds>("n").found);
}

// 256 MiB: more than every device can bind, but not more than some can.
struct LargeWeight {
  static constexpr void build(Builder& g) { g.output("y", g.input("x", f32, {1}) + g.param("w", f32, {8192, 8192})); }
};

TEST_CASE("a large weight is judged by the device that runs it", "[compile]") {
  STATIC_REQUIRE(internal::CheckGraph<LargeWeight>::kDone);
  STATIC_REQUIRE(internal::kProgramSizes<LargeWeight, kPortable>.error != 0);
  Target large;
  large.max_binding_bytes = uint64_t{1} << 30;
  CHECK(compile(internal::trace<LargeWeight>(), large).error.empty());
}

}  // namespace
}  // namespace rlxgpu::core::testing
