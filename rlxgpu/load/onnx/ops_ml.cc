// What of ai.onnx.ml is plain arithmetic on tensors.
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

void import_binarizer(Node& n) {
  const Tensor x = n.tensor(0);
  n.result(0, cast(gt(x, n.number("threshold", 0.0f)), x.dtype()));
}

// Columns of the last axis, by index.
void import_array_feature_extractor(Node& n) {
  const Tensor x = n.tensor(0), indices = n.tensor(1);
  if (n.rank(0) < 1) n.invalid("the operand has no axis");
  const Tensor picked = gather(x, reshape(indices, {Dim(n.shape(1).count())}), n.rank(0) - 1);
  n.check();
  n.result(0, n.rank(0) == 1 ? unsqueeze(picked, {0}) : picked);
}

void import_scaler(Node& n) {
  const std::vector<float> offset = n.numbers("offset"), scale = n.numbers("scale");
  const auto row = [&](const std::vector<float>& numbers) {
    std::vector<uint32_t> words;
    for (const float number : numbers) words.push_back(std::bit_cast<uint32_t>(number));
    return n.g().constant(f32, {Dim(static_cast<int64_t>(words.size()))}, words);
  };
  Tensor y = cast(n.tensor(0), f32);
  if (!offset.empty()) y = y - row(offset);
  if (!scale.empty()) y = y * row(scale);
  n.result(0, y, ElementType::f32);
}

constexpr std::string_view kDomain = "ai.onnx.ml";
constexpr OpImporter kOps[] = {
    {"ArrayFeatureExtractor", import_array_feature_extractor, kDomain},
    {"Binarizer", import_binarizer, kDomain},
    {"Scaler", import_scaler, kDomain},
};

}  // namespace

Importers ml_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
