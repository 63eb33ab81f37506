#include "tests/support/compiled.h"

#include "catch2/catch_test_macros.hpp"

namespace rlxgpu::core::testing {

Program compiled(const Graph& graph, const CompileOptions& options, const Target& target) {
  Program program = compile(graph, target, options);
  INFO(program.error.view());
  REQUIRE(program.error.empty());
  const Text problem = check(view_of(program, target));
  INFO(problem.view());
  REQUIRE(problem.empty());
  return program;
}

Program compiled(const Build& build, const CompileOptions& options, const Target& target) {
  Builder g;
  build(g);
  return compiled(g.graph(), options, target);
}

std::string steps_of(const Program& program) {
  const ProgramView view = view_of(program, kPortable);
  std::string labels;
  for (const Step& step : view.steps) labels += (labels.empty() ? "" : " ") + std::string(view.name(step.label));
  return labels;
}

int slots_of(const Program& program) {
  int slots = 0;
  for (const BufferDecl& buffer : program.buffers) slots += buffer.role == BufferRole::scratch;
  return slots;
}

}  // namespace rlxgpu::core::testing
