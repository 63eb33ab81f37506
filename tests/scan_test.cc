#include "rlxgpu/kernels/scan/scan.h"

#include <cmath>
#include <string>
#include <string_view>

#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "tests/support/agree.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

TEST_CASE("scan: what is wrong is said", "[scan]") {
  Builder g;
  cumsum(g.input("x", f32, {2, 3}), -3);
  CHECK(std::string(g.graph().error.view()).ends_with(": cumsum([2,3]): axis -3 does not exist in rank 2"));
  Builder h;
  cummax(h.input("x", boolean, {2, 3}));
  CHECK(std::string(h.graph().error.view()).ends_with(": cummax(bool[2,3]): needs a real number, not bool"));
}

struct Form {
  std::string_view name;
  Tensor (*make)(Tensor x, int axis, ScanOptions options);
};
const Form kForms[] = {
    {"cumsum", [](Tensor x, int axis, ScanOptions options) { return cumsum(x, axis, options); }},
    {"cumprod", [](Tensor x, int axis, ScanOptions options) { return cumprod(x, axis, options); }},
    {"cummax", [](Tensor x, int axis, ScanOptions options) { return cummax(x, axis, options); }},
    {"cummin", [](Tensor x, int axis, ScanOptions options) { return cummin(x, axis, options); }},
};

Bound bound_of(const Form& form, DType dtype, int64_t n) {
  return form.name == "cumprod" ? ulp_bound(dtype, static_cast<double>(n)) : sum_bound(dtype, n, 2.0);
}

TEST_CASE("scans agree with the reference, whatever the types", "[scan][gpu]") {
  const Device device = device_or_skip();
  for (const Form& form : kForms) {
    for (const DType dtype : {f32, f16, bf16, i32, u32, i8, u8}) {
      CAPTURE(form.name, name_of(dtype));
      const auto build = [&](Builder& g) {
        Tensor x = g.input("x", dtype, {3, 21});
        g.output("plain", form.make(x, 1, {}));
        if (dtype != f32 && dtype != i8) return;
        g.output("exclusive", form.make(x, 1, {.exclusive = true}));
        g.output("both", form.make(x, 1, {.exclusive = true, .reverse = true}));
      };
      check_agrees(device, build, {.bound = bound_of(form, dtype, 21)});
    }
  }
}

struct Sizes {
  Shape x;
  int axis;
  const char* why;
};

TEST_CASE("scans agree with the reference, whatever the shapes", "[scan][gpu]") {
  const Device device = device_or_skip();
  const Sizes sizes = GENERATE(Sizes{{1}, 0, "one element"},  //
                               Sizes{{3, 0}, 1, "empty rows"}, Sizes{{300, 3}, 1, "short rows"},
                               Sizes{{2, 1024}, 1, "exactly one step"}, Sizes{{2, 5001}, 1, "several steps"},
                               Sizes{{2100, 3}, 0, "columns"}, Sizes{{4, 37, 40}, 1, "the middle"},
                               Sizes{{2, 1, 3, 2, 5, 2, 1, 2}, 4, "eight axes"});
  CAPTURE(sizes.why);
  const int64_t n = sizes.x[sizes.axis];
  for (const Form& form : {kForms[0], kForms[2]}) {
    for (const bool reverse : {false, true}) {
      CAPTURE(form.name, reverse);
      const auto build = [&](Builder& g) {
        g.output("y", form.make(g.input("x", f32, sizes.x), sizes.axis, {.reverse = reverse}));
      };
      check_agrees(device, build, {.bound = bound_of(form, f32, n)});
    }
  }
}

TEST_CASE("scans of special numbers and over run-time extents", "[scan][gpu]") {
  const Device device = device_or_skip();
  const double inf = HUGE_VAL, nan = std::nan("");
  const std::vector<double> x = {1, nan, 2, 3, -inf, inf, 0, 5, -inf, -inf, 1, 0};
  const auto build = [&](Builder& g) {
    Tensor t = g.input("x", f32, {3, g.extent("n", 9)});
    g.output("max", cummax(t));
    g.output("min", cummin(t, -1, {.reverse = true}));
    g.output("sum", cumsum(t, -1, {.exclusive = true}));
  };
  check_agrees(device, build, {.bound = sum_bound(f32, 4, 5), .given = {{"x", x}}, .numbers = {{"n", 4}}});
}

}  // namespace
}  // namespace rlxgpu::core::testing
