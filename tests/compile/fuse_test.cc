// How many dispatches typical graphs need, and what ends a kernel.
#include <functional>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/matmul/grouped.h"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/softmax/softmax.h"
#include "tests/executable/accumulate.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

Tensor in(Builder& g, std::string_view name, const Shape& shape = {8, 16}) { return g.input(name, f32, shape); }

TEST_CASE("steps that typical graphs need", "[compile]") {
  struct Row {
    const char* why;
    void (*build)(Builder&);
    const char* steps;
  };
  const Row row = GENERATE(values<Row>({
      {"a chain of maps", [](Builder& g) { g.output("y", tanh(exp(in(g, "x")) * 2.0 + 1.0)); },
       "exp+mul+add+tanh/f32/map"},
      {"maps of several broadcast shapes",
       [](Builder& g) { g.output("y", (in(g, "x") + in(g, "row", {16})) * in(g, "col", {8, 1}) + in(g, "one", {})); },
       "add+mul+add/f32/map"},
      {"softmax of a scaled tensor", [](Builder& g) { g.output("y", softmax(in(g, "x") * 0.125)); },
       "softmax+mul/f32/rows"},
      {"a map after softmax", [](Builder& g) { g.output("y", softmax(in(g, "x")) * in(g, "mask")); },
       "softmax+mul/f32/vectors"},
      {"matmul, bias, gelu, residual",
       [](Builder& g) {
         const Tensor x = in(g, "x", {32, 64}), w = g.param("w", f32, {64, 64}), b = g.param("b", f32, {64});
         g.output("y", gelu(matmul(x, w) + b) + x);
       },
       "matmul+add+gelu+add/f32/tiled"},
      {"a map before a reduction, and after it",
       [](Builder& g) {
         const Tensor x = in(g, "x");
         g.output("y", sqrt(sum(x * x, 1) + 1e-5));
       },
       "sum+mul+add+sqrt/f32/rows"},
      {"views before a map cost nothing",
       [](Builder& g) { g.output("y", exp(reverse(transpose(slice(in(g, "x"), {2, 0}, {6, kEnd}))))); }, "exp/f32/map"},
      {"views between maps", [](Builder& g) { g.output("y", exp(transpose(log(in(g, "x"))))); },
       "log+transpose+exp/f32/map"},
      {"a transposed operand of matmul is read where it is",
       [](Builder& g) { g.output("y", matmul(in(g, "a", {8, 16}), transpose(in(g, "b", {4, 16})))); },
       "matmul/f32/tiled"},
      {"a reshape after matmul joins it, for elements stay in order",
       [](Builder& g) { g.output("y", exp(reshape(matmul(in(g, "a", {8, 16}), in(g, "b", {16, 4})), {4, 8}))); },
       "matmul+reshape+exp/f32/tiled"},
      {"a transpose after matmul joins it, too, for every element has one place",
       [](Builder& g) { g.output("y", exp(transpose(matmul(in(g, "a", {8, 16}), in(g, "b", {16, 4}))))); },
       "matmul+transpose+exp/f32/tiled"},
      {"a value used twice by one kernel is computed once",
       [](Builder& g) {
         const Tensor e = exp(in(g, "x"));
         g.output("y", e / (e + 1.0));
       },
       "exp+add+div/f32/map"},
      {"a value used by two outputs is stored once",
       [](Builder& g) {
         const Tensor e = exp(in(g, "x"));
         g.output("y", e + 1.0);
         g.output("z", e - 1.0);
       },
       "exp/f32/map add/f32/map sub/f32/map"},
      {"a map that is an output, too",
       [](Builder& g) {
         const Tensor e = exp(in(g, "x"));
         g.output("e", e);
         g.output("y", e * 2.0);
       },
       "exp/f32/map mul/f32/map"},
      {"a row's mean taken off: the reduction is stored, the rest is one map",
       [](Builder& g) {
         const Tensor x = in(g, "x");
         g.output("y", exp(x - mean(x, 1, {.keep_dims = true})));
       },
       "mean/f32/rows sub+exp/f32/map"},
      {"an input that is an output is copied", [](Builder& g) { g.output("y", in(g, "x")); }, "copy/f32/map"},
      {"one value under two names is copied",
       [](Builder& g) {
         const Tensor y = matmul(in(g, "a", {4, 4}), in(g, "b", {4, 4})) + 1.0;
         g.output("y", y);
         g.output("z", y);
       },
       "matmul+add/f32/tiled copy/f32/map"},
      {"an empty result needs no step", [](Builder& g) { g.output("y", exp(in(g, "x", {0, 4}))); }, ""},
  }));
  CAPTURE(row.why);
  CHECK(steps_of(compiled(row.build)) == row.steps);
}

Tensor sum_of_inputs(Builder& g, int count) {
  Tensor total;
  for (int i = 0; i < count; ++i) {
    Text name;
    name << 'x' << i;
    const Tensor x = in(g, name.view());
    total = i == 0 ? x : total + x;
  }
  return total;
}

TEST_CASE("a kernel binds eight buffers at most", "[compile]") {
  const auto [inputs, steps] = GENERATE(table<int, size_t>({{7, 1}, {8, 2}, {13, 2}, {14, 3}, {40, 7}}));
  CAPTURE(inputs);
  const Program program = compiled([&](Builder& g) { g.output("y", sum_of_inputs(g, inputs)); });
  CHECK(program.steps.size() == steps);
}

TEST_CASE("a buffer that a kernel reads by itself twice is bound twice", "[compile]") {
  const auto build = [](int others) {
    return [others](Builder& g) {
      const Tensor x = in(g, "x", {16, 16});
      Tensor y = matmul(x, transpose(x));
      for (int i = 0; i < others; ++i) {
        Text name;
        name << 'b' << i;
        y = y * 2.0 + in(g, name.view(), {16});
      }
      g.output("y", y);
    };
  };
  CHECK(compiled(build(5)).steps.size() == 1);
  CHECK(compiled(build(6)).steps.size() == 2);
}

// Kernels that read more buffers than their op has operands: scratch of a step before, tables.
TEST_CASE("a kernel with buffers of its own leaves room for them", "[compile]") {
  const auto with_addends = [](Builder& g, Tensor y, int addends) {
    for (int i = 0; i < addends; ++i) y = y + g.input("b" + std::to_string(i), f32, y.shape());
    g.output("y", y);
  };
  Target software = kPortable;
  software.adapter_class = AdapterClass::software;
  const int addends = GENERATE(2, 3, 4, 5, 6);
  CAPTURE(addends);
  const auto grouped = [&](Builder& g) {
    with_addends(g, grouped_matmul(g.input("x", f32, {54, 8}), g.input("w", f32, {2, 8, 5}), g.input("e", i32, {54})),
                 addends);
  };
  const auto convolved = [&](Builder& g) {
    with_addends(g, conv(g.input("x", f32, {1, 4, 9, 9}), g.input("w", f32, {8, 4, 3, 3})), addends);
  };
  const auto check_compiles = [&](const OpDef& op, const std::function<void(Builder&)>& build) {
    for (const Variant& variant : op.variants) {
      CAPTURE(op.name, variant.name);
      const Choice choices[] = {{op.name, variant.name}};
      CompileOptions options;
      options.choices = choices;
      for (const Target& target : {kPortable, software}) CHECK(steps_of(compiled(build, options, target)) != "");
    }
  };
  check_compiles(kGroupedMatmul, grouped);
  check_compiles(kConv, convolved);
}

TEST_CASE("a larger binding limit makes larger kernels", "[compile]") {
  Target roomy;
  roomy.max_storage_buffers = 16;
  const Program program = compiled([](Builder& g) { g.output("y", sum_of_inputs(g, 15)); }, {}, roomy);
  CHECK(program.steps.size() == 1);
}

TEST_CASE("an element is computed again a few times only", "[compile]") {
  // Every level reads the one below at two places: 2^n computations if all were one kernel.
  const auto tower = [](int levels) {
    return [levels](Builder& g) {
      Tensor t = in(g, "x", {16, 16});
      for (int i = 0; i < levels; ++i) t = sin(t) + transpose(sin(t));
      g.output("y", t);
    };
  };
  CHECK(compiled(tower(1)).steps.size() == 1);
  const Program program = compiled(tower(8));
  CHECK(program.steps.size() >= 3);
  for (const KernelSpec& spec : program.kernels.specs) CHECK(spec.values.count < 24);
}

TEST_CASE("a long chain ends before the kernel gets too large", "[compile]") {
  const Program program = compiled([](Builder& g) {
    Tensor t = in(g, "x");
    for (int i = 0; i < 100; ++i) t = sin(t);
    g.output("y", t);
  });
  CHECK(program.steps.size() == 3);
  for (const KernelSpec& spec : program.kernels.specs) CHECK(spec.values.count <= 49);
}

TEST_CASE("a state is changed where it is, and read before", "[compile]") {
  struct Row {
    const char* why;
    void (*build)(Builder&);
    const char* steps;
  };
  const Row row = GENERATE(values<Row>({
      {"nothing else reads it",
       [](Builder& g) { g.output("y", accumulate(g.state("s", f32, {4, 4}), in(g, "x", {4, 4}))); },
       "accumulate/f32/plain copy/f32/map"},
      {"what was computed from it before is computed before",
       [](Builder& g) {
         const Tensor s = g.state("s", f32, {4, 4}), old = exp(s);
         g.output("y", accumulate(s, in(g, "x", {4, 4})) + old);
       },
       "exp/f32/map accumulate/f32/plain add/f32/map"},
      {"it is added to itself",
       [](Builder& g) {
         const Tensor s = g.state("s", f32, {4, 4});
         accumulate(s, s);
         g.output("y", in(g, "x"));
       },
       "copy/f32/map accumulate/f32/plain copy/f32/map"},
  }));
  CAPTURE(row.why);
  CHECK(steps_of(compiled(row.build)) == row.steps);
}

TEST_CASE("what is made of single numbers is computed where it is read", "[compile]") {
  const Program program = compiled([](Builder& g) {
    const Tensor places = iota(g, f32, 4) + g.scalar("n", f32);
    g.output("y", softmax(in(g, "x", {4, 4}) + places));
    g.output("w", softmax(in(g, "z", {4, 4}) * places));
  });
  CHECK(steps_of(program) == "softmax+iota+add+add/f32/rows softmax+iota+add+mul/f32/rows");
}

TEST_CASE("a part of a state is not changed in place", "[compile]") {
  Builder g;
  const Tensor s = accumulate(g.state("s", f32, {4, 4}), in(g, "x", {4, 4}));
  accumulate(reshape(s, {2, 8}), in(g, "z", {2, 8}));
  CHECK(std::string(g.graph().error.view())
            .ends_with(": accumulate([2,8], [2,8]): operand 0 is a view of state \"s\": only a whole state can be "
                       "changed in place"));
}

TEST_CASE("a chain of views may be longer than a stack is deep", "[compile]") {
  constexpr int kLength = 200000;
  Builder g;
  Tensor x = in(g, "x", {6, 5});
  for (int i = 0; i < kLength; ++i) x = i % 2 == 0 ? reverse(x) : transpose(x, {1, 0});
  g.output("y", x);
  const Program program = compile(g.graph(), kPortable);
  CHECK(program.error.view() == "");
  CHECK(program.steps.size() < kLength / 500);  // now and then one is stored
}

TEST_CASE("without fusion every op has a step of its own", "[compile]") {
  CompileOptions options;
  options.fuse.fuse = false;
  const Program program = compiled([](Builder& g) { g.output("y", softmax(exp(in(g, "x")) * 2.0) + 1.0); }, options);
  CHECK(steps_of(program) == "exp/f32/map mul/f32/map softmax/f32/vectors add/f32/map");
}

}  // namespace
}  // namespace rlxgpu::core::testing
