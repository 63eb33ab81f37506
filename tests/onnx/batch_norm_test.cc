// Batch norms after convolutions: gone when the model is loaded, in the weights.
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "catch2/catch_test_macros.hpp"
#include "catch2/generators/catch_generators.hpp"
#include "rlxgpu/load/onnx/onnx.h"
#include "tests/onnx/model_text.h"
#include "tests/support/gpu.h"
#include "tests/support/tolerance.h"

namespace rlxgpu::core::testing {
namespace {

using onnx::ElementType;
using onnx::HostTensor;

constexpr int64_t kIn = 3, kOut = 5, kHigh = 6, kWide = 7, kTaps = 3;  // no padding

std::vector<double> numbers(int64_t count, double from, double to, int seed) {
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i)
    values.push_back(static_cast<float>(from + (to - from) * static_cast<double>((i * 37 + seed * 11) % 101) / 100));
  return values;
}

struct Layer {
  bool flat = false, bias = false, relu = false;  // flat: one axis
  int64_t high() const { return flat ? 1 : kHigh; }
  int64_t taps_high() const { return flat ? 1 : kTaps; }
  std::vector<double> x = {}, w = {}, b = {}, scale = numbers(kOut, -1.5, 2, 3), shift = numbers(kOut, -1, 1, 4),
                      mean = numbers(kOut, -1, 1, 5), variance = numbers(kOut, 0.1, 4, 6);
};
Layer layer_of(bool flat, bool bias, bool relu) {
  Layer l{flat, bias, relu};
  l.x = numbers(kIn * l.high() * kWide, -1, 1, 1);
  l.w = numbers(kOut * kIn * l.taps_high() * kTaps, -1, 1, 2);
  l.b = bias ? numbers(kOut, -2, 2, 7) : std::vector<double>(kOut);
  return l;
}

// The meaning, in double precision.
std::vector<double> expected(const Layer& l) {
  const int64_t high = l.high() - l.taps_high() + 1, wide = kWide - kTaps + 1;
  std::vector<double> y;
  for (int64_t c = 0; c < kOut; ++c) {
    for (int64_t i = 0; i < high * wide; ++i) {
      double sum = l.b[static_cast<size_t>(c)];
      for (int64_t k = 0; k < kIn * l.taps_high() * kTaps; ++k) {
        const int64_t in = k / (l.taps_high() * kTaps), row = i / wide + k / kTaps % l.taps_high(),
                      column = i % wide + k % kTaps;
        sum += l.w[static_cast<size_t>(c * kIn * l.taps_high() * kTaps + k)] *
               l.x[static_cast<size_t>((in * l.high() + row) * kWide + column)];
      }
      const auto at = static_cast<size_t>(c);
      sum = (sum - l.mean[at]) / std::sqrt(l.variance[at] + 0.001) * l.scale[at] + l.shift[at];
      y.push_back(l.relu ? std::max(sum, 0.0) : sum);
    }
  }
  return y;
}

std::string list(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) absl::StrAppend(&text, text.empty() ? "" : ", ", absl::SixDigits(value));
  return text;
}
enum class Norm : uint8_t { none, folds, stays };  // stays: another output keeps the convolution's own result alive
std::string model_text(const Layer& l, Norm norm = Norm::folds) {
  const std::string in = l.flat ? "float[1, 3, 7] x" : "float[1, 3, 6, 7] x", rank = l.flat ? "1, 5, 5" : "1, 5, 4, 5";
  std::string text =
      absl::StrCat("g (", in, ") => (float[", rank, "] y", norm == Norm::stays ? ", float[" + rank + "] c" : "",
                   ") <float[5, 3, ", l.flat ? "3] w = {" : "3, 3] w = {", list(l.w), "}");
  if (l.bias) absl::StrAppend(&text, ", float[5] b = {", list(l.b), "}");
  absl::StrAppend(
      &text, ", float[5] s = {", list(l.scale), "}, float[5] t = {", list(l.shift), "}, float[5] m = {", list(l.mean),
      "}, float[5] v = {", list(l.variance), "}> { c = Conv(x, w", l.bias ? ", b" : "", ")\n",
      norm == Norm::none ? "n = Identity(c)\n" : "n = BatchNormalization <epsilon = 0.001> (c, s, t, m, v)\n",
      l.relu ? "y = Relu(n) }" : "y = Identity(n) }");
  return text;
}
std::vector<std::string> labels(const Device& device, const onnx::Model& model) {
  Result<onnx::Session> session = onnx::Session::create(device, model);
  REQUIRE(session.status().ToString() == "OK");
  const Result<std::vector<StepProfile>> steps = session->executable().engine().profile();
  REQUIRE(steps.status().ToString() == "OK");
  std::vector<std::string> texts;
  for (const StepProfile& step : *steps) texts.push_back(step.label);
  return texts;
}
Layer rounded(Layer l) {  // to what the text says
  for (std::vector<double>* part : {&l.w, &l.b, &l.scale, &l.shift, &l.mean, &l.variance}) {
    for (double& value : *part) value = static_cast<float>(std::stod(absl::StrCat(absl::SixDigits(value))));
  }
  return l;
}

TEST_CASE("a batch norm goes into the weights of the convolution before it", "[onnx][gpu]") {
  const bool flat = GENERATE(false, true), bias = GENERATE(false, true), relu = GENERATE(false, true);
  CAPTURE(flat, bias, relu);
  const Layer l = rounded(layer_of(flat, bias, relu));
  const Result<onnx::Model> model = load_text(model_text(l));
  REQUIRE(model.status().ToString() == "OK");
  CHECK(model->parameters.size() == 2);  // the new weights and bias, nothing of the norm
  const Device device = device_or_skip();
  Result<onnx::Session> session = onnx::Session::create(device, *model);
  REQUIRE(session.status().ToString() == "OK");
  std::vector<int64_t> shape = {1, kIn, kHigh, kWide};
  if (flat) shape.erase(shape.begin() + 2);
  REQUIRE(session->set("x", HostTensor::of_numbers(ElementType::f32, shape, l.x)).ok());
  REQUIRE(session->run().wait().ok());
  const Result<HostTensor> y = session->get("y");
  REQUIRE(y.status().ToString() == "OK");
  // Weights are rounded once more, products are at most |w| |scale| / sqrt(variance): 1 * 2 / 0.3.
  const int64_t terms = kIn * l.taps_high() * kTaps + 1;
  CHECK_THAT(y->numbers(), CloseTo(expected(l), dot_bound(f32, 2 * terms, 2 / 0.3)));
  // The steps of a convolution alone.
  const Result<onnx::Model> alone = load_text(model_text(layer_of(flat, true, relu), Norm::none));
  REQUIRE(alone.status().ToString() == "OK");
  CHECK(labels(device, *model) == labels(device, *alone));
}

TEST_CASE("a batch norm stays where the convolution has another reader, or numbers are not constants", "[onnx]") {
  const Layer l = layer_of(false, true, false);
  const auto parameters = [](const std::string& text) {
    const Result<onnx::Model> model = load_text(text);
    REQUIRE(model.status().ToString() == "OK");
    return model->parameters.size();
  };
  CHECK(parameters(model_text(l)) == 2);
  CHECK(parameters(model_text(l, Norm::stays)) == 6);
  const std::string tail = "{ c = Conv(x, w)\n y = BatchNormalization(c, s, s, s, v) }";
  CHECK(parameters(
            "g (float[1, 1, 4] x, float[2, 1, 3] w) => (float[1, 2, 2] y) <float[2] s = {1, 2}, float[2] v = {1, 2}> " +
            tail) == 2);
  // A variance that the norm makes NaN of is left to it.
  CHECK(parameters("g (float[1, 1, 4] x) => (float[1, 2, 2] y) <float[2, 1, 3] w = {1, 2, 3, 4, 5, 6}, float[2] s = "
                   "{1, 2}, float[2] v "
                   "= {1, -2}> " +
                   tail) == 3);
  CHECK(parameters("g (float16[1, 1, 4] x) => (float16[1, 2, 2] y) <float16[2, 1, 3] w = {1, 2, 3, 4, 5, 6}, "
                   "float16[2] s = {1, 2}, "
                   "float16[2] v = {1, 2}> " +
                   tail) == 3);
}

TEST_CASE("two batch norms in a row go, too; a norm of something else stays", "[onnx]") {
  const std::string head =
      "g (float[1, 1, 4] x) => (float[1, 2, 2] y) <float[2, 1, 3] w = {1, 2, 3, 4, 5, 6}, float[2] s = {1, 2}, "
      "float[2] v = {1, 2}> ";
  Result<onnx::Model> model = load_text(
      head + "{ c = Conv(x, w)\n d = BatchNormalization(c, s, s, s, v)\n y = BatchNormalization(d, s, s, s, v) }");
  REQUIRE(model.status().ToString() == "OK");
  CHECK(model->parameters.size() == 2);
  // The name is computed again, by something else.
  model = load_text(head + "{ c = Conv(x, w)\n c = Relu(c)\n y = BatchNormalization(c, s, s, s, v) }");
  if (model.ok()) CHECK(model->parameters.size() == 3);
}

}  // namespace
}  // namespace rlxgpu::core::testing
