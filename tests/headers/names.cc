// A stranger's program: `using namespace rlxgpu` and names of its own, which the insides of rlxgpu use, too.
//
// It needs to compile, and the types must be the stranger's.
#include <array>
#include <span>
#include <type_traits>
#include <vector>

#include "rlxgpu/rlxgpu.h"

using namespace rlxgpu;  // NOLINT: this is what is tested

#define OF_STRANGER(name)                 \
  struct name {                           \
    static constexpr bool mine = true;    \
  };                                      \
  name make_##name() { return {}; }       \
  static_assert(std::is_empty_v<name> && name::mine)

OF_STRANGER(Accuracy);
OF_STRANGER(Call);
OF_STRANGER(Choice);
OF_STRANGER(Coords);
OF_STRANGER(Cost);
OF_STRANGER(Dispatch);
OF_STRANGER(Emit);
OF_STRANGER(Fold);
OF_STRANGER(Functions);
OF_STRANGER(Graph);
OF_STRANGER(Hash);
OF_STRANGER(Infer);
OF_STRANGER(Lanes);
OF_STRANGER(Layout);
OF_STRANGER(Memory);
OF_STRANGER(Name);
OF_STRANGER(Node);
OF_STRANGER(NodeKind);
OF_STRANGER(Origin);
OF_STRANGER(Output);
OF_STRANGER(Pattern);
OF_STRANGER(Piece);
OF_STRANGER(Plan);
OF_STRANGER(Planner);
OF_STRANGER(Port);
OF_STRANGER(Program);
OF_STRANGER(Range);
OF_STRANGER(Ref);
OF_STRANGER(Register);
OF_STRANGER(Scope);
OF_STRANGER(Session);
OF_STRANGER(Site);
OF_STRANGER(Span);
OF_STRANGER(Split);
OF_STRANGER(Step);
OF_STRANGER(Strides);
OF_STRANGER(Table);
OF_STRANGER(Text);
OF_STRANGER(Trust);
OF_STRANGER(Turn);
OF_STRANGER(Value);
OF_STRANGER(Variant);
OF_STRANGER(Vec);
OF_STRANGER(View);

namespace compile {}   // folders of rlxgpu are no names, either
namespace reference {}
namespace testing {}

struct Mlp {
  static constexpr void build(Builder& g) {
    Tensor x = g.input("x", f32, {4, 8});
    Tensor w = g.param("w", f16, {8, 2});
    Dim rows = g.extent("rows", 16);
    Tensor more = g.input("more", f32, {rows, 2});
    g.output("y", softmax(relu(matmul(x, w)) + 1.0f));
    g.output("z", sum(concat({more, more}, 1), {1}, {.keep_dims = true}) * sqrt(more));
    g.output("i", argmax(cast(transpose(x), i32)));
  }
};

// What runs a graph, by its names.
Status run(const Device& device, std::span<const float> x) {
  Executable<Mlp> mlp(device);
  mlp.set<"x">(x);
  const Run done = mlp.run({.read = true});
  if (Status status = done.wait(); !status.ok()) return status;
  const Result<std::vector<float>> y = mlp.get<"y">();
  return y.status();
}

int main() {
  DynamicGraph graph;
  Builder& g = *graph;
  g.output("y", exp(g.input("x", f32, {3})));
  const bool refused = !run(Device(), std::array<float, 32>{}).ok();  // there is no device
  return g.ok() && refused && Executable<Mlp>::program.steps.size() > 2 ? 0 : 1;
}
