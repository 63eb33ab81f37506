// Floats as small integers and back.
#include <cmath>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/quantize/quantize.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"
#include "rlxgpu/load/onnx/small_types.h"

namespace rlxgpu::core::onnx {
namespace {

// Scales and zero points: one for all (of any rank), one for each index of an axis, or one for each block.
struct Granularity {
  QuantizeOptions options;
  bool whole = false;
  Tensor of(Tensor x) const { return whole ? reshape(x, Shape()) : x; }
};
Granularity granularity(Node& n) {
  Granularity g;
  const int64_t axis = n.integer("axis", 1);
  g.options.block = n.integer("block_size", 0);
  if (g.options.block < 0 || g.options.block > INT32_MAX) n.invalid("block_size is ", g.options.block);
  g.whole = n.shape(1).count() == 1 && g.options.block == 0;
  g.options.axis = g.whole ? 0 : n.axis(axis, n.rank(0));
  return g;
}

bool is_quantized_integer(ElementType type) { return is_integer(type) && bits_of(type) <= 16; }

void import_quantize(Node& n) {
  const Granularity g = granularity(n);
  const bool saturate = n.flag("saturate", true);
  n.ignore({"precision"});
  const ElementType type = n.has(2)                ? n.type(2)
                           : n.has("output_dtype") ? n.element_type("output_dtype")
                                                   : ElementType::u8;
  n.ignore({"output_dtype"});
  if (is_small_float(type)) {  // a zero point says no more than the type: it is 0
    const Tensor by = scales_beside(g.of(n.tensor(1)), n.tensor(0), g.options);
    n.check();
    return n.result(0, to_small_float(cast(n.tensor(0), f32) / cast(by, f32), small_float_of(type), saturate), type);
  }
  if (!is_quantized_integer(type)) n.unsupported("to ", name_of(type));
  const DType dtype = n.carrier(type);
  const Tensor zero = n.has(2) ? g.of(n.tensor(2)) : n.g().literal(0, dtype), x = n.tensor(0);
  const double steps = std::ldexp(1.0, bits_of(type));
  const double low = is_signed(dtype) ? -steps / 2 : 0;
  n.result(0, quantize_between(x, g.of(n.tensor(1)), zero, low, low + steps - 1, g.options), type);
}

void import_dequantize(Node& n) {
  const Granularity g = granularity(n);
  const ElementType type =
      n.has("output_dtype") && n.integer("output_dtype") != 0 ? n.element_type("output_dtype") : n.type(1);
  const Tensor q = n.tensor(0), scale = g.of(n.tensor(1));
  if (is_small_float(n.type(0))) {
    const Tensor by = scales_beside(scale, q, g.options);
    n.check();
    return n.result(0, cast(decoded(q, n.type(0)) * cast(by, f32), n.carrier(type)), type);
  }
  if (!is_integer(n.type(0))) n.unsupported("from ", name_of(n.type(0)));
  const Tensor y = n.has(2) ? dequantize(q, scale, g.of(n.tensor(2)), g.options) : dequantize(q, scale, g.options);
  n.result(0, cast(y, n.carrier(type)), type);
}

void import_dynamic_quantize(Node& n) {
  const Quantized q = dynamic_quantize(n.tensor(0));
  n.result(0, q.values, ElementType::u8);
  n.result(1, q.scale, ElementType::f32);
  n.result(2, q.zero_point, ElementType::u8);
}

constexpr OpImporter kOps[] = {
    {"DequantizeLinear", import_dequantize},
    {"DynamicQuantizeLinear", import_dynamic_quantize},
    {"QuantizeLinear", import_quantize},
};

}  // namespace

Importers quantize_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
