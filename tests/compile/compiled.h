// compiled(build): the program of a graph written as a function, checked.
//
//   const Program program = compiled([](Builder& g) { g.output("y", relu(g.input("x", f32, {8}))); });
//   CHECK(steps_of(program) == "relu/f32/map");
#ifndef RLXGPU_TESTS_COMPILE_COMPILED_H_
#define RLXGPU_TESTS_COMPILE_COMPILED_H_

#include <string>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/compile/compile.h"
#include "rlxgpu/compile/listing.h"
#include "rlxgpu/graph/builder.h"

namespace rlxgpu::testing {

template <typename Build>
Program compiled(const Build& build, const CompileOptions& options = {}, const Target& target = kPortable) {
  Builder g;
  build(g);
  Program program = compile(g.graph(), target, options);
  INFO(program.error.view());
  REQUIRE(program.error.empty());
  const Text problem = check(view_of(program, target));
  INFO(problem.view());
  REQUIRE(problem.empty());
  return program;
}

// "matmul+add/f32/tiled softmax/f32/rows": the labels of all steps.
inline std::string steps_of(const Program& program) {
  const ProgramView view = view_of(program, kPortable);
  std::string labels;
  for (const Step& step : view.steps) labels += (labels.empty() ? "" : " ") + std::string(view.name(step.label));
  return labels;
}

inline int slots_of(const Program& program) {
  int slots = 0;
  for (const BufferDecl& buffer : program.buffers) slots += buffer.role == BufferRole::scratch;
  return slots;
}

}  // namespace rlxgpu::testing

#endif  // RLXGPU_TESTS_COMPILE_COMPILED_H_
