// Conversions between types.
#include <string>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"
#include "rlxgpu/load/onnx/small_types.h"

namespace rlxgpu::core::onnx {
namespace {

bool is_number(ElementType type) {
  return is_float(type) || is_integer(type) || is_small_float(type) || type == ElementType::boolean;
}

Tensor converted(Node& n, ElementType to) {
  const ElementType from = n.type(0);
  const bool saturate = n.flag("saturate", true);
  const PowerRounding rounding = power_rounding_of(n, n.text("round_mode", "up"));
  if (!is_number(from) || !is_number(to)) n.unsupported("from ", name_of(from), " to ", name_of(to));
  if (from == to) return n.tensor(0);
  const Tensor x = decoded(n.tensor(0), from);
  if (is_small_float(to))
    return to_small_float(rlxgpu::core::is_float(x.dtype()) ? x : cast(x, f32), small_float_of(to), saturate, rounding);
  if (bits_of(to) >= 8 || to == ElementType::boolean) return n.wrapped(cast(x, n.carrier(to)), to);
  // Fewer bits: floats become whole numbers first.
  return low_bits(cast(rlxgpu::core::is_float(x.dtype()) ? cast(round(x), i32) : x, n.carrier(to)), to);
}

void import_cast(Node& n) {
  const ElementType to = n.element_type("to");
  n.result(0, converted(n, to), to);
}
void import_cast_like(Node& n) { n.result(0, converted(n, n.type(1)), n.type(1)); }

constexpr OpImporter kOps[] = {
    {"Cast", import_cast},
    {"CastLike", import_cast_like},
};

}  // namespace

Importers cast_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
