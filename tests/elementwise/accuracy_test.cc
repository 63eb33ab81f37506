// Every float function against its reference, over a million arguments: all bit patterns, and where it is used.
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "catch2/generators/catch_generators_range.hpp"
#include "rlxgpu/dynamic.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/elementwise/table.h"
#include "rlxgpu/reference/call.h"
#include "tests/support/gpu.h"

namespace rlxgpu::core::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr size_t kCount = 1 << 18;

std::vector<float> uniform(float low, float high, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> distribution(low, high);
  std::vector<float> values(kCount);
  for (float& value : values) value = distribution(random);
  return values;
}

// Any float but the subnormal ones, which adapters may flush.
std::vector<float> any_bits(uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(kCount);
  for (float& value : values) {
    uint32_t bits = random();
    if ((bits & 0x7f800000u) == 0) bits |= 0x3f800000u;
    value = std::bit_cast<float>(bits);
  }
  const float special[] = {0.0f, -0.0f, kInfinity, -kInfinity, kNan, 1.0f, -1.0f, 88.7f, 88.73f, -87.3f, 89.4f, 90.0f};
  std::copy(std::begin(special), std::end(special), values.begin());
  return values;
}

double ulp_of(double value) {
  int exponent = 0;
  std::frexp(std::fmax(std::fabs(value), 0x1p-126), &exponent);
  return std::ldexp(1.0, exponent - 24);
}

std::vector<double> expected_of(const OpDef& op, const std::vector<const std::vector<float>*>& operands,
                                std::span<const int64_t> attrs) {
  const Shape shape = {static_cast<int64_t>(kCount)};
  std::vector<reference::Array> arrays;
  for (const std::vector<float>* values : operands) {
    arrays.emplace_back(f32, shape).data.assign(values->begin(), values->end());
  }
  reference::Array result(f32, shape);
  reference::Call call{.op = &op, .operands = {}, .results = {&result}, .attrs = attrs};
  for (const reference::Array& array : arrays) call.operands.push_back(&array);
  op.reference(call);
  return result.data;
}

// Says which element is worst.
void check_accuracy(const OpDef& op, const std::vector<const std::vector<float>*>& operands,
                    std::span<const int64_t> attrs = {}) {
  const Shape shape = {static_cast<int64_t>(kCount)};
  DynamicGraph graph;
  Tensor tensors[2];
  for (size_t k = 0; k < operands.size(); ++k) tensors[k] = graph->input(k == 0 ? "a" : "b", f32, shape);
  graph->output("y", {&*graph, graph->append(op, {tensors, operands.size()}, attrs, Site())});
  auto executable = Executable<DynamicGraph>::create(device_or_skip(), graph);
  REQUIRE(executable.status().ToString() == "OK");
  for (size_t k = 0; k < operands.size(); ++k) REQUIRE(executable->set(k == 0 ? "a" : "b", *operands[k]).ok());
  executable->run();
  const absl::StatusOr<std::vector<float>> actual = executable->get<float>("y");
  REQUIRE(actual.status().ToString() == "OK");

  const std::vector<double> expected = expected_of(op, operands, attrs);
  const Accuracy accuracy = accuracy_of(op);
  double worst = 0;  // error over bound
  size_t where = 0;
  for (size_t i = 0; i < kCount; ++i) {
    const double wanted = expected[i], given = (*actual)[i];
    if (std::isnan(wanted) && std::isnan(given)) continue;
    if (given == static_cast<float>(wanted)) continue;
    if (std::fabs(wanted) < 0x1p-126 && std::fabs(given) <= 0x1p-126) continue;  // flushed
    const double bound = accuracy.ulps * ulp_of(wanted) * (1 + 1e-6) + accuracy.absolute;
    const bool at_the_end = std::fabs(wanted) + bound > 0x1.fffffep127 && std::isinf(given);  // overflows an ulp early
    const double error = std::fabs(given - wanted) / bound;
    if (!at_the_end && !(error <= worst)) worst = std::isnan(error) ? HUGE_VAL : error, where = i;
  }
  INFO(op.name << '(' << (*operands[0])[where] << ", " << (*operands.back())[where] << ") is " << (*actual)[where]
               << ", expected " << expected[where] << "; error / bound " << worst);
  CHECK(worst <= 1.0);
}

// The ops of so many f32 whose result is f32.
std::vector<ElementwiseOp> float_functions(int operands) {
  std::vector<ElementwiseOp> functions;
  for (const ElementwiseOp& entry : kElementwiseOps) {
    DType result = boolean;
    if (entry.operands == operands && result_of_type(entry, f32, result) && result == f32) functions.push_back(entry);
  }
  return functions;
}

TEST_CASE("float functions of one tensor are as accurate as table.h says, for every argument", "[gpu][elementwise]") {
  const ElementwiseOp entry = GENERATE(from_range(float_functions(1)));
  for (const std::vector<float>& x :
       {any_bits(1), uniform(-1, 1, 2), uniform(-20, 20, 3), uniform(-110, 110, 4), uniform(-5000, 5000, 5)}) {
    check_accuracy(*entry.op, {&x}, entry.attrs());
  }
}

TEST_CASE("float functions of two tensors are as accurate as table.h says", "[gpu][elementwise]") {
  const OpDef* op = GENERATE(from_range(float_functions(2))).op;
  std::vector<float> whole = uniform(-20, 20, 8);
  for (float& value : whole) value = std::round(value);
  const std::vector<float> bits = any_bits(1), other = any_bits(2), mid = uniform(-20, 20, 3),
                           more = uniform(-20, 20, 4), positive = uniform(0, 4, 5), wide = uniform(-200, 200, 6);
  check_accuracy(*op, {&bits, &other});
  check_accuracy(*op, {&mid, &more});
  check_accuracy(*op, {&mid, &whole});
  check_accuracy(*op, {&positive, &wide});
  check_accuracy(*op, {&bits, &whole});
}

TEST_CASE("special cases of functions of two tensors are those of the reference", "[gpu][elementwise]") {
  const OpDef* op = GENERATE(from_range(float_functions(2))).op;
  const float values[] = {0.0f,  -0.0f, kInfinity, -kInfinity, kNan,  1.0f,   -1.0f, 2.0f,        -2.0f,       0.5f,
                          -0.5f, 3.0f,  -3.0f,     1e-30f,     1e30f, -1e30f, 5.5f,  16777216.0f, 16777218.0f, -7.25f};
  std::vector<float> a(kCount), b(kCount);
  for (size_t i = 0; i < kCount; ++i) {
    a[i] = values[i % std::size(values)];
    b[i] = values[i / std::size(values) % std::size(values)];
  }
  check_accuracy(*op, {&a, &b});
}

}  // namespace
}  // namespace rlxgpu::core::testing
