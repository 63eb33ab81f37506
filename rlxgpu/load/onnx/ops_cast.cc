// Conversions between types.
#include "kernels/elementwise/elementwise.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::onnx {
namespace {

bool is_plain(ElementType type) {
  return (is_float(type) || is_integer(type) || type == ElementType::boolean) && bits_of(type) >= 8;
}

Tensor converted(Node& n, ElementType to) {
  const ElementType from = n.type(0);
  n.ignore({"saturate", "round_mode"});  // of the small floats
  const Tensor x = n.tensor(0);
  if (from == to) return x;
  if (!is_plain(from) || !is_plain(to)) n.unsupported("from ", name_of(from), " to ", name_of(to));
  return n.wrapped(cast(x, n.carrier(to)), to);
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

}  // namespace rlxgpu::onnx
