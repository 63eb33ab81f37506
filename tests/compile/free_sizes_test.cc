// Kernels whose sizes are read at run time: which literals are sizes, that shapes share kernels, and that results stay.
#include "rlxgpu/compile/free_sizes.h"

#include <string>

#include "catch2/catch_test_macros.hpp"
#include "catch2/matchers/catch_matchers_string.hpp"
#include "rlxgpu/compile/check.h"
#include "rlxgpu/compile/rendered_program.h"
#include "rlxgpu/reference/interpreter.h"
#include "rlxgpu/rlxgpu.h"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

using Catch::Matchers::ContainsSubstring;

constexpr KernelFile kFile(R"wgsl(*/
//#params
const kSize = 5u;
const kStep = 7i;
const kLane = 8u;
const kWidth = 9u;
//#end
//#extents
fn cols() -> u32 { return kSize; }
//#end
//#input x
fn x_at(i : u32) -> f32 { return 0.0; }
//#end
fn main() {}
//)wgsl");

internal::FreeKernel freed(std::string_view text) { return internal::free_kernel(text, kFile, 3); }

TEST_CASE("a constant is a size where functions use it as a number", "[free_sizes]") {
  const internal::FreeKernel kernel = freed("const kSize = 5u;  // how many\nfn f() -> u32 { return kSize + kSize % 4u; }\n");
  CHECK(kernel.text ==
        "  // how many\nfn f() -> u32 { return rlx_sizes[0] + rlx_sizes[0] % 4u; }\n"
        "@group(0) @binding(3) var<storage, read> rlx_sizes : array<u32, 1>;\n");
  CHECK(kernel.sizes == std::vector<uint32_t>{5});
  const internal::FreeKernel computed = freed("const kSize = 5u;\nconst kHalf = kSize / 2u;\nconst kEven = kHalf * 2u == kSize;\nfn f() { if (kEven) { g(kHalf); } }\n");
  CHECK_THAT(computed.text, ContainsSubstring("{ if (((rlx_sizes[0] / 2u ) * 2u == rlx_sizes[0] )) { g((rlx_sizes[0] / 2u )); } }"));
  const internal::FreeKernel negative = freed("const kStep = i32(-7);\nfn f() -> i32 { return kStep; }\n");
  CHECK_THAT(negative.text, ContainsSubstring("return bitcast<i32>(rlx_sizes[0]);"));
  CHECK(negative.sizes == std::vector<uint32_t>{0u - 7u});
}

TEST_CASE("a number of the model's is read from memory where the machine wrote it", "[free_sizes]") {
  const internal::FreeKernel kernel = freed("fn x_at(i : u32) -> f32 { let t1 = bitcast<f32>(0x3f628b5au); return t1; }\n");
  CHECK_THAT(kernel.text, ContainsSubstring("let t1 = bitcast<f32>(rlx_sizes[0]);"));
  CHECK(kernel.sizes == std::vector<uint32_t>{0x3f628b5a});
  for (const std::string_view kept : {"fn x_at(i : u32) -> f32 { return bitcast<f32>(0x3f800000u); }\n",
                                      "fn x_at(i : u32) -> f32 { return bitcast<f32>(0x80000000u); }\n",
                                      "fn other(i : u32) -> f32 { return bitcast<f32>(0x3f628b5au); }\n",
                                      "fn x_at(i : u32) -> u32 { return u32(0x3f628b5au); }\n"}) {
    CAPTURE(kept);
    CHECK(freed(kept).text == kept);
  }
}

TEST_CASE("layers that differ in a float share a kernel", "[free_sizes]") {
  const auto kernels = [](double second) {
    Builder g;
    g.output("a", exp(g.input("x", f32, {3, 5}) * 0.3));
    g.output("b", exp(g.input("z", f32, {3, 5}) * second));
    return render_free(compile(g.graph(), kPortable), kPortable).kernels.size();
  };
  CHECK(kernels(0.7) == 1);
  CHECK(kernels(0.5) == 2);
}

TEST_CASE("a constant stays one where WGSL wants a constant", "[free_sizes]") {
  for (const std::string_view use : {"const_assert kLane < 9u;", "const kOther = 2u * kLane; const_assert kOther > 1u;", "var<workgroup> v : array<vec2<u32>, kLane>;",
                                     "@compute @workgroup_size(kLane) fn main() {}", "fn f() { var v : array<u32, (kLane / 2u)>; }",
                                     "fn f() { const n : u32 = kLane; }", "fn f() { const_assert kLane > 2u; }", "fn f() { switch (x) { case kLane: { } default: { } } }",
                                     "fn f() { y = subgroupBroadcast(x, kLane); }"}) {
    const std::string text = "const kLane = 8u;\n" + std::string(use) + "\nfn g() -> u32 { return kLane; }\n";
    CAPTURE(use);
    CHECK(freed(text).text == text);
    CHECK(freed(text).sizes.empty());
  }
  // And is none of the file's parameters.
  const std::string other = "const kMine = 8u;\nfn g() -> u32 { return kMine; }\n";
  CHECK(freed(other).text == other);
}

TEST_CASE("only literals of the machine's own code are sizes", "[free_sizes]") {
  CHECK(freed("fn x_at(i : u32) -> f32 { let c0 = i / 12u; let c1 = i % 0x7u; return b0[c0 * 1u + (c1 << 16u)] * 3.5e+2f; }").sizes == std::vector<uint32_t>{12});
  CHECK(freed("fn cols() -> u32 { return 64u; }").sizes == std::vector<uint32_t>{64});
  CHECK(freed("fn x_at(i : u32) -> f32 { var v : array<f32, 4u>; return v[i / 5u >> 2u]; }").sizes == std::vector<uint32_t>{5});
  CHECK(freed("fn xy_at(i : u32) -> f32 { return b0[i / 12u]; }").sizes.empty());
  CHECK(freed("// kSize 12u\n/* nested /* fn x_at */ 12u */ fn x_at(i : u32) -> f32 { return b0[i]; /* 12u */ }").sizes.empty());
}

RenderedProgram made_of(const Build& build, const Target& target = kPortable) {
  DynamicGraph graph;
  build(*graph);
  RenderedProgram made = render_free(compile(graph.graph(), target), target);
  REQUIRE(made.program.error.empty());
  CHECK(std::string(check(view_of(made.program, target)).view()).empty());
  return made;
}

TEST_CASE("shapes of one rank share their kernels", "[free_sizes]") {
  const auto texts = [](int64_t rows, int64_t cols) {
    return made_of([=](Builder& g) {
             Tensor x = g.input("x", f32, {rows, cols}), b = g.param("b", f16, {cols});
             g.output("map", transpose(x) * 2.0f + 1.0f);
             g.output("softmax", softmax(x));
             g.output("sum", sum(x + cast(b, f32), 0));
             g.output("product", matmul(x, g.param("w", f32, {cols, rows})));
           }).kernels;
  };
  CHECK(texts(60, 70) == texts(90, 110));
  CHECK(texts(60, 70) == texts(61, 71));
}

TEST_CASE("equal kernels of one program become one, each step with its sizes", "[free_sizes]") {
  const RenderedProgram made = made_of([](Builder& g) {
    g.output("a", softmax(g.input("x", f32, {60, 70})));
    g.output("b", softmax(g.input("y", f32, {90, 110})));
    g.output("c", softmax(g.input("z", f32, {60, 70})));
  });
  CHECK(made.kernels.size() == 1);
  REQUIRE(made.program.steps.size() == 3);
  const auto sizes = [&](int step) { return made.program.bindings[static_cast<size_t>(made.program.steps[static_cast<size_t>(step)].bindings.first + 2)].tensor; };
  CHECK(sizes(0) != sizes(1));
  CHECK(sizes(0) == sizes(2));
}

TEST_CASE("a kernel without a binding left keeps its literals", "[free_sizes]") {
  const RenderedProgram made = made_of([](Builder& g) {
    Tensor all = g.input("0", f32, {3, 5});
    for (const char* name : {"1", "2", "3", "4", "5", "6"}) all = all * 2.0f + g.input(name, f32, {3, 5});
    g.output("y", all);
  });
  REQUIRE(made.kernels.size() == 1);
  CHECK_THAT(made.kernels[0], !ContainsSubstring("rlx_sizes"));
}

TEST_CASE("free and baked sizes give the same numbers", "[free_sizes][gpu]") {
  const Device device = device_or_skip();
  DynamicGraph graph;
  Tensor x = graph->input("x", f32, {7, 30}), h = graph->input("h", f16, {30, 11});
  const Dim n = graph->extent("n", 9);
  Tensor t = graph->input("t", f32, {n, 4});
  graph->output("softmax", softmax(x, 0) * 3.0f);
  graph->output("product", matmul(x, cast(h, f32)));
  graph->output("moved", transpose(pad(x, {2, 0}, {0, 3}, PadMode::reflect)));
  graph->output("packed", concat({h, reverse(h)}, 1));
  graph->output("sums", sum(t, 0));
  graph->output("scan", cumsum(x, 1));
  graph->output("best", argmax(x, 1));
  const Agreement agreement = {.bound = {}, .numbers = {{"n", 6}}};
  const reference::Arrays inputs = inputs_of(graph.graph(), agreement), expected = reference::run(graph.graph(), inputs, {.numbers = agreement.numbers});
  std::vector<std::vector<uint32_t>> found[2];
  for (const Sizes sizes : {Sizes::free, Sizes::baked}) {
    auto executable = Executable<DynamicGraph>::create(device, graph, {.sizes = sizes});
    REQUIRE(executable.status().ToString() == "OK");
    REQUIRE(executable->engine().warm_up().ToString() == "OK");
    REQUIRE(executable->set("n", 6).ok());
    for (const auto& [name, array] : inputs) REQUIRE(executable->set_elements(name, array.dtype, array.count(), pack(array).data()).ok());
    executable->run();
    for (const auto& [name, array] : expected) {
      std::vector<uint32_t> words(storage_bytes(array.dtype, array.count()) / 4);
      REQUIRE(executable->get_elements(name, array.dtype, array.count(), words.data()).ToString() == "OK");
      found[static_cast<int>(sizes)].push_back(words);
    }
  }
  CHECK(found[0] == found[1]);
}

}  // namespace
}  // namespace rlxgpu::core::testing
