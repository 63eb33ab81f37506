// compiled(build): the program of a graph written as a function, checked.
//
//   const Program program = compiled([](Builder& g) { g.output("y", relu(g.input("x", f32, {8}))); });
//   CHECK(steps_of(program) == "relu/f32/map");
//
// Not inline, unlike compile(): a test that calls it is built half a second sooner.
#ifndef RLXGPU_TESTS_SUPPORT_COMPILED_H_
#define RLXGPU_TESTS_SUPPORT_COMPILED_H_

#include <functional>
#include <string>

#include "rlxgpu/compile/compile.h"
#include "rlxgpu/graph/builder.h"

namespace rlxgpu::core::testing {

using Build = std::function<void(Builder&)>;

Program compiled(const Graph& graph, const CompileOptions& options = {}, const Target& target = kPortable);
Program compiled(const Build& build, const CompileOptions& options = {}, const Target& target = kPortable);

// "matmul+add/f32/tiled softmax/f32/rows": the labels of all steps.
std::string steps_of(const Program& program);

int slots_of(const Program& program);

}  // namespace rlxgpu::core::testing

#endif  // RLXGPU_TESTS_SUPPORT_COMPILED_H_
