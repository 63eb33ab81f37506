#include "rlxgpu/load/onnx/importers.h"

#include <map>
#include <string_view>
#include <utility>

#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

using Key = std::pair<std::string_view, std::string_view>;  // domain, op

std::map<Key, const OpImporter*> all_importers() {
  // clang-format off
  const Importers families[] = {
      activation_importers(),
      attention_importers(),
      cast_importers(),
      control_importers(),
      conv_importers(),
      elementwise_importers(),
      matmul_importers(),
      ml_importers(),
      movement_importers(),
      norm_importers(),
      quantize_importers(),
      recurrent_importers(),
      reduce_importers(),
      resize_importers(),
      select_importers(),
      sequence_importers(),
      signal_importers(),
      vision_importers(),
  };
  // clang-format on
  std::map<Key, const OpImporter*> all;
  for (const Importers& family : families) {
    for (const OpImporter& importer : family) all.emplace(Key(importer.domain, importer.op), &importer);
  }
  return all;
}

}  // namespace

const OpImporter* find_importer(std::string_view domain, std::string_view op) {
  static const std::map<Key, const OpImporter*>& all = *new std::map<Key, const OpImporter*>(all_importers());
  const auto found = all.find(Key(domain, op));
  return found == all.end() ? nullptr : found->second;
}

}  // namespace rlxgpu::core::onnx
