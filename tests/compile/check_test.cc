// check() finds what is wrong with a program: each program here was right until one thing in it was broken.
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

// x -> softmax -> s -> softmax of the transpose -> t -> softmax of the transpose -> y; x is also added at the end.
Program chain() {
  return compiled([](Builder& g) {
    const Tensor x = g.input("x", f32, {8, 8}), n = g.scalar("n", f32);
    const Tensor s = softmax(x * n);
    const Tensor t = softmax(transpose(s));
    g.output("y", softmax(transpose(t)) + x + s);
  });
}

std::string problem_of(const Program& program, const Target& target = kPortable) {
  return std::string(check(view_of(program, target)).view());
}

TensorDecl& tensor_of(Program& program, int step, int binding) {
  const StepBinding& bound =
      program.bindings[static_cast<size_t>(program.steps[static_cast<size_t>(step)].bindings.first + binding)];
  return program.tensors[static_cast<size_t>(bound.tensor)];
}
StepBinding& binding_of(Program& program, int step, int binding) {
  return program.bindings[static_cast<size_t>(program.steps[static_cast<size_t>(step)].bindings.first + binding)];
}
int last_binding(const Program& program, int step) {
  return program.steps[static_cast<size_t>(step)].bindings.count - 1;
}

TEST_CASE("the program that is to be broken is right", "[compile]") {
  const Program program = chain();
  CHECK(steps_of(program) == "softmax+mul/f32/rows softmax/f32/rows softmax+add+add/f32/rows");
  CHECK(problem_of(program).empty());
}

TEST_CASE("check says what is wrong", "[compile]") {
  struct Row {
    void (*break_it)(Program&);
    const char* problem;
  };
  const Row row = GENERATE(values<Row>({
      {[](Program& p) { tensor_of(p, 1, last_binding(p, 1)).buffer = tensor_of(p, 1, 0).buffer; },
       "step 1 (softmax/f32/rows): buffer 2 is bound twice, as bindings 0 and 1, once at least to be written"},
      {[](Program& p) {
         p.steps[0].bindings = p.steps[1].bindings, p.steps[0].kernel = p.steps[1].kernel, p.steps[0].immediates = {};
       },
       "step 0 (softmax+mul/f32/rows): reads tensor 1, which is not in its buffer at that time"},
      {[](Program& p) {  // t takes the place of s, which is read again at the end
         TensorDecl extra = tensor_of(p, 1, 0);
         p.tensors.push_back(extra);
         p.steps.push_back(p.steps[2]);
         p.steps[2] = p.steps[0];
         const auto first = static_cast<int32_t>(p.bindings.size());
         for (int i = 0; i < p.steps[0].bindings.count; ++i) p.bindings.push_back(binding_of(p, 0, i));
         p.bindings.back().tensor = static_cast<int32_t>(p.tensors.size()) - 1;
         p.steps[2].bindings.first = first;
       },
       "step 3 (softmax+add+add/f32/rows): reads tensor 1, which is not in its buffer at that time"},
      {[](Program& p) { p.steps[1].grid[1] = 70000; },
       "step 1 (softmax/f32/rows): a grid of 70000 groups along one axis"},
      {[](Program& p) { p.steps[2].grid[0] = 0; },
       "step 2 (softmax+add+add/f32/rows): a grid of 0 groups along one axis"},
      {[](Program& p) { p.buffers[static_cast<size_t>(p.tensors[1].buffer)].bytes += 256, p.tensors[1].offset = 16; },
       "tensor 1 is not aligned"},
      {[](Program& p) { p.buffers[0].bytes += 256, p.tensors[0].offset = 256; }, "port 0 begins inside a buffer"},
      {[](Program& p) { p.tensors[0].offset = 256; }, "tensor 0 reaches beyond its buffer"},
      {[](Program& p) { p.tensors[1].buffer = 99; }, "tensor 1 has no buffer"},
      {[](Program& p) { p.steps.pop_back(); }, "output \"y\" is never written"},
      {[](Program& p) { binding_of(p, 0, last_binding(p, 0)).writes = false; },
       "step 0 (softmax+mul/f32/rows): binding 1 is not used as the kernel declares it"},
      {[](Program& p) { p.steps[0].bindings.count -= 1; },
       "step 0 (softmax+mul/f32/rows): 1 bindings for a kernel with 2"},
      {[](Program& p) { p.steps[0].immediates.count = 0; },
       "step 0 (softmax+mul/f32/rows): immediates do not match the kernel's"},
      {[](Program& p) { binding_of(p, 1, last_binding(p, 1)).tensor = 0, binding_of(p, 1, 0).tensor = 1; },
       "step 1 (softmax/f32/rows): writes tensor 0, which is given"},
  }));
  CAPTURE(row.problem);
  Program program = chain();
  row.break_it(program);
  CHECK(problem_of(program) == row.problem);
}

TEST_CASE("check knows the target's limits", "[compile]") {
  const Program program = chain();
  Target small;
  small.max_storage_buffers = 3;
  CHECK(problem_of(program, small) == "step 2 (softmax+add+add/f32/rows): 4 bindings");
  small = {};
  small.max_immediate_bytes = 0;
  CHECK(problem_of(program, small) == "step 0 (softmax+mul/f32/rows): too many immediates");
  small = {};
  small.max_binding_bytes = 64;
  CHECK(problem_of(program, small) == "tensor 0 is larger than a binding may be");
  small = {};
  small.offset_alignment = 256;
  CHECK(problem_of(program, small).empty());
}

}  // namespace
}  // namespace rlxgpu::core::testing
