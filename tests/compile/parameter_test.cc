// Parameters of variants: read and written as text, refused in words, given by choices and choosers, filled by
// defaults.
#include "rlxgpu/graph/parameter.h"

#include <functional>
#include <string>

#include "catch2/catch_test_macros.hpp"
#include "rlxgpu/kernels/matmul/matmul.h"
#include "tests/support/compiled.h"

namespace rlxgpu::core::testing {
namespace {

constexpr Parameter kRowsAndLanes[] = {{"rows", 4, 32, 4, "rows"}, {"lanes", 8, 32, kPowersOfTwo, "lanes"}};

std::string parsed(std::string_view text) {
  Parameters p(kRowsAndLanes);
  Text error, out;
  if (!parse_parameters("tiled", text, p, error)) return std::string(error.view());
  append_parameters(out, p);
  return std::string(out.view());
}

TEST_CASE("parameters are read and written", "[compile]") {
  CHECK(parsed("") == "");
  CHECK(parsed("rows=12") == "{rows=12}");
  CHECK(parsed("lanes=16,rows=32") == "{rows=32,lanes=16}");
  const VariantName name("tiled{rows=12}");
  CHECK(name.name == "tiled");
  CHECK(name.parameters == "rows=12");
}

TEST_CASE("what is no parameter, and values out of range, are told in words", "[compile]") {
  CHECK(parsed("cols=1") == "tiled has no parameter \"cols\"; it has rows, lanes");
  CHECK(parsed("rows=10") == "tiled: rows is 10; it may be 4 to 32 in steps of 4");
  CHECK(parsed("lanes=12") == "tiled: lanes is 12; it may be 8, 16, 32");
  CHECK(parsed("rows=36") == "tiled: rows is 36; it may be 4 to 32 in steps of 4");
  CHECK(parsed("rows=") == "tiled: rows needs a whole number");
  CHECK(parsed("rows=4;lanes=8") == "tiled: rows needs a whole number");
}

constexpr void product(Builder& g) {
  g.output("y", matmul(g.input("a", f32, {256, 64}), g.input("b", f32, {64, 256})));
}

uint32_t groups(const CompileOptions& options) {
  const Program program = compiled(product, options);
  CHECK(program.error.view() == "");
  return program.steps[0].grid[0];
}

TEST_CASE("choices give parameters, and the others have their defaults", "[compile]") {
  const Choice tiled[] = {{"matmul", "tiled"}}, two[] = {{"matmul", "tiled{rows_each=2}"}};
  CHECK(groups({.choices = tiled}) == 16);
  CHECK(groups({.choices = two}) == 32);
}

TEST_CASE("a choice whose values a call does not take is none", "[compile]") {
  const Choice large[] = {{"matmul", "tiled{rows_each=8,cols_each=8,tile_k=32}"}};  // 32 KiB
  CHECK(groups({.choices = large}) == groups({}));
}

std::string error_of(const std::function<void(Builder&)>& build, const CompileOptions& options) {
  Builder g;
  build(g);
  return std::string(compile(g.graph(), kPortable, options).error.view());
}

TEST_CASE("a choice that is no variant's is an error", "[compile]") {
  const Choice wrong[] = {{"matmul", "tiled{rows_each=3}"}}, unknown[] = {{"matmul", "tiled{rows=4}"}};
  CHECK(error_of(product, {.choices = wrong}) == "matmul/tiled: rows_each is 3; it may be 1, 2, 4, 8");
  CHECK(error_of(product, {.choices = unknown}) ==
        "matmul/tiled has no parameter \"rows\"; it has rows_each, cols_each, tile_k");
}

TEST_CASE("a chooser gives parameters; those that are not valid are the defaults", "[compile]") {
  for (const auto& [rows, expected] : {std::pair{2, 32u}, {3, 16u}, {1, 64u}}) {
    int given_rows = rows;
    const Chooser chooser = {
        [](void* context, const Call&, std::span<const Variant* const> accepted, ParameterValues& given) {
          Parameters p(accepted[0]->parameters.list);
          p.set("rows_each", *static_cast<int*>(context));
          given = p.values();
          return 0;
        },
        &given_rows};
    CHECK(groups({.chooser = chooser}) == expected);
  }
}

void fills_nothing(const Call&, const Target&, Parameters&) {}
void fills_another(const Call&, const Target&, Parameters& p) {
  p.fill("rows", 4), p.fill("lanes", 8), p.fill("cols", 1);
}
void asks_for_another(Emit& e) { e.parameter("cols"); }

TEST_CASE("mistakes of a variant's author are told", "[compile]") {
  static Variant variant{.name = "mine"};
  static OpDef op = kMatmul;
  op.variants = {&variant, 1};
  const auto error = [](ParameterRules rules) {
    variant.emit = asks_for_another;
    variant.parameters = rules;
    const auto build = [](Builder& g) {
      g.output("y", apply(op, {g.input("a", f32, {4, 4}), g.input("b", f32, {4, 4})}, std::source_location::current()));
    };
    return error_of(build, {});
  };
  CHECK(error({kRowsAndLanes, fills_nothing}) == "matmul/mine has no default of rows");
  CHECK(error({kRowsAndLanes, fills_another}) == "matmul/mine declares no parameter cols");
  CHECK(error({}) == "matmul/mine declares no parameter cols");
}

}  // namespace
}  // namespace rlxgpu::core::testing
