// Convolutions and pools.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "rlxgpu/kernels/conv/conv.h"
#include "rlxgpu/kernels/conv/conv_transpose.h"
#include "rlxgpu/kernels/conv/deform_conv.h"
#include "rlxgpu/kernels/conv/im2col.h"
#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/pool/pool.h"
#include "rlxgpu/load/onnx/arguments.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

// The attributes that say how a window walks over x (operand k); `kernel`: where the op has it from elsewhere.
PoolOptions window_of_node(Node& n, int k, std::vector<int64_t> kernel = {}) {
  const Shape x = n.shape(k);
  const auto axes = static_cast<size_t>(std::max(x.rank() - 2, 0));
  if (axes < 1 || axes > 3) n.unsupported("x has ", x.rank(), " axes; 3 to 5 are supported");
  const auto checked = [&](std::vector<int64_t> list, size_t size, int64_t otherwise, const char* name) {
    if (list.empty()) list.assign(size, otherwise);
    if (list.size() != size) n.invalid(name, " has ", list.size(), " numbers, not ", size);
    for (const int64_t number : list) {
      if (number < 0 || number > (1 << 30)) n.invalid(name, " holds ", number);
    }
    return list;
  };
  const std::vector<int64_t> given = n.small_integers("kernel_shape");
  if (kernel.empty()) kernel = given;
  kernel = checked(kernel, axes, 1, "kernel_shape");
  const std::vector<int64_t> strides = checked(n.small_integers("strides"), axes, 1, "strides"),
                             dilations = checked(n.small_integers("dilations"), axes, 1, "dilations");
  std::vector<int64_t> pads = checked(n.small_integers("pads"), 2 * axes, 0, "pads");
  const std::string automatic = n.text("auto_pad", "NOTSET");
  PoolOptions options{.ceil = n.flag("ceil_mode")};
  if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
    for (size_t i = 0; i < axes; ++i) {
      if (strides[i] < 1) n.invalid("a stride is 0");
      const int64_t extent = x[static_cast<int>(i) + 2], places = ceil_div(extent, strides[i]);
      const int64_t all = std::max<int64_t>(0, (places - 1) * strides[i] + (kernel[i] - 1) * dilations[i] + 1 - extent);
      pads[i] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      pads[i + axes] = all - pads[i];
    }
    options.ceil = false;
  } else if (automatic != "NOTSET" && automatic != "VALID") {
    n.invalid("auto_pad is \"", automatic, "\"");
  }
  options.kernel = list_of(kernel), options.strides = list_of(strides), options.dilations = list_of(dilations);
  options.before = list_of(std::span(pads).first(axes)), options.after = list_of(std::span(pads).last(axes));
  return options;
}

std::vector<int64_t> kernel_of(Node& n, int k) {
  const std::vector<int64_t> extents = extents_of(n.shape(k));
  if (extents.size() < 3) n.invalid("the weights have ", extents.size(), " axes");
  return {extents.begin() + 2, extents.end()};
}

ConvOptions conv_options(Node& n, int x, int w) {
  const PoolOptions window = window_of_node(n, x, kernel_of(n, w));
  return {window.strides, window.dilations, window.before, window.after, n.small_integer("group", 1)};
}

void import_conv(Node& n) { n.result(0, conv(n.tensor(0), n.tensor(1), n.tensor_or_none(2), conv_options(n, 0, 1))); }

// A zero point of weights: one for all, or one for each channel of the result.
Tensor weight_zero(Node& n, int k, int rank) {
  if (!n.has(k)) return n.g().literal(0, i32);
  const Tensor zero = n.tensor(k);
  if (zero.shape().count() == 1) return reshape(zero, Shape());
  Shape shape = {zero.shape()[0]};
  for (int axis = 1; axis < rank; ++axis) shape.push_back(1);
  return reshape(zero, shape);
}
Tensor one_number(Node& n, int k) {
  if (!n.has(k)) return n.g().literal(0, i32);
  if (n.shape(k).count() != 1) n.unsupported("a zero point or scale of ", n.shape(k), "; one number is supported");
  return reshape(n.tensor(k), Shape());
}

void import_conv_integer(Node& n) {
  const ConvOptions options = conv_options(n, 0, 1);
  n.result(0, conv_integer(n.tensor(0), n.tensor(1), one_number(n, 2), weight_zero(n, 3, n.rank(1)), options),
           ElementType::i32);
}

// x, its scale and zero point, w, its scale and zero point, the scale and zero point of the result, bias.
void import_qlinear_conv(Node& n) {
  const ConvOptions options = conv_options(n, 0, 3);
  Tensor sums = conv_integer(n.tensor(0), n.tensor(3), one_number(n, 2), weight_zero(n, 5, n.rank(3)), options);
  if (n.has(8)) sums = internal::with_bias("QLinearConv", sums, n.tensor(8), Site());
  n.check();
  Tensor scale = cast(n.tensor(4), f32);
  if (scale.shape().count() == 1) {
    scale = reshape(scale, Shape());
  } else {
    Shape beside = {scale.shape()[0]};
    for (int axis = 2; axis < sums.shape().rank(); ++axis) beside.push_back(1);
    scale = reshape(scale, beside);
  }
  const Tensor factor = cast(one_number(n, 1), f32) * scale / cast(one_number(n, 6), f32);
  const Tensor scaled = round(cast(sums, f32) * factor) + cast(one_number(n, 7), f32);
  n.result(0, cast(scaled, n.carrier(n.type(7))), n.type(7));
}

void import_conv_transpose(Node& n) {
  const Shape x = n.shape(0);
  const auto axes = static_cast<size_t>(std::max(x.rank() - 2, 0));
  const std::string automatic = n.text("auto_pad", "NOTSET");
  std::vector<int64_t> extents = n.small_integers("output_shape"), more = n.small_integers("output_padding");
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  // Pads of SAME mean something else here: computed below.
  const std::vector<int64_t> kernel = kernel_of(n, 1);
  const std::vector<int64_t> strides = n.small_integers("strides"), dilations = n.small_integers("dilations");
  std::vector<int64_t> pads = n.small_integers("pads");
  n.ignore({"kernel_shape"});
  for (const auto& list : {strides, dilations, more}) {
    if (!list.empty() && list.size() != axes)
      n.invalid("strides, dilations and output_padding need ", axes, " numbers");
  }
  if (kernel.size() != axes || axes < 1 || axes > 3) n.unsupported("x has ", x.rank(), " axes; 3 to 5 are supported");
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (pads.size() != 2 * axes) n.invalid("pads need ", 2 * axes, " numbers");
  more.resize(axes, 0);
  if (extents.size() > axes)
    extents.erase(extents.begin(), extents.end() - static_cast<int64_t>(axes));  // with image and channel
  if (!extents.empty() && extents.size() != axes) n.invalid("output_shape needs ", axes, " numbers");
  ConvTransposeOptions options{
      .strides = list_of(strides), .dilations = list_of(dilations), .groups = n.small_integer("group", 1)};
  for (size_t i = 0; i < axes; ++i) {
    const int64_t stride = strides.empty() ? 1 : strides[i], dilation = dilations.empty() ? 1 : dilations[i];
    const int64_t in = x[static_cast<int>(i) + 2], whole = (in - 1) * stride + (kernel[i] - 1) * dilation + 1 + more[i];
    if (!extents.empty() || same) {
      const int64_t wanted = extents.empty() ? in * stride : extents[i];
      const int64_t all = std::max<int64_t>(0, whole - wanted);
      pads[i] = automatic == "SAME_UPPER" ? all / 2 : all - all / 2;
      pads[i + axes] = all - pads[i];
      if (whole < wanted) more[i] += wanted - whole;
    }
    if (pads[i] < 0 || pads[i + axes] < 0) n.unsupported("pads below 0");
  }
  options.before = list_of(std::span(pads).first(axes)), options.after = list_of(std::span(pads).last(axes)),
  options.more = list_of(more);
  n.result(0, conv_transpose(n.tensor(0), n.tensor(1), n.tensor_or_none(2), options));
}

void import_deform_conv(Node& n) {
  const PoolOptions window = window_of_node(n, 0, kernel_of(n, 1));
  const DeformConvOptions options = {window.strides,
                                     window.dilations,
                                     window.before,
                                     window.after,
                                     n.small_integer("group", 1),
                                     n.integer("offset_group", 1)};
  n.result(0, deform_conv(n.tensor(0), n.tensor(1), n.tensor(2), n.tensor_or_none(4), n.tensor_or_none(3), options));
}

void import_col2im(Node& n) {
  const std::vector<int64_t> extents = n.integers(1), kernel = n.integers(2);
  const size_t axes = extents.size();
  if (axes < 1 || axes > 3) n.unsupported(axes, " spatial axes; 1 to 3 are supported");
  std::vector<int64_t> pads = n.small_integers("pads");
  if (pads.empty()) pads.assign(2 * axes, 0);
  if (pads.size() != 2 * axes || kernel.size() != axes)
    n.invalid("block_shape and pads do not fit to ", axes, " spatial axes");
  n.result(0, col2im(n.tensor(0), list_of(extents),
                     {.kernel = list_of(kernel),
                      .strides = list_of(n.small_integers("strides")),
                      .dilations = list_of(n.small_integers("dilations")),
                      .before = list_of(std::span(pads).first(axes)),
                      .after = list_of(std::span(pads).last(axes))}));
}

void import_max_pool(Node& n) {
  PoolOptions options = window_of_node(n, 0);
  options.columns = n.flag("storage_order");
  if (!n.wants(1)) return n.result(0, max_pool(n.tensor(0), options));
  const MaxPooled pooled = max_pool_indices(n.tensor(0), options);
  n.result(0, pooled.values);
  n.result(1, pooled.indices, ElementType::i64);
}

void import_average_pool(Node& n) {
  PoolOptions options = window_of_node(n, 0);
  options.count_pads = n.flag("count_include_pad");
  n.result(0, average_pool(n.tensor(0), options));
}

// p is a float before opset 2, an integer since.
float power(Node& n) { return static_cast<float>(n.integer("p", 2)); }

void import_lp_pool(Node& n) {
  const PoolOptions options = window_of_node(n, 0);
  n.result(0, lp_pool(n.tensor(0), power(n), options));
}

void import_global_average_pool(Node& n) { n.result(0, global_average_pool(n.tensor(0))); }
void import_global_max_pool(Node& n) { n.result(0, global_max_pool(n.tensor(0))); }
void import_global_lp_pool(Node& n) { n.result(0, global_lp_pool(n.tensor(0), power(n))); }

// Without output_shape the result is as small as it can be; indices always mean that one.
void import_max_unpool(Node& n) {
  const PoolOptions options = window_of_node(n, 0);
  const Shape x = n.shape(0);
  IntList extents, before, after;
  before.push_back(0), before.push_back(0), after.push_back(0), after.push_back(0);
  const std::vector<int64_t> wanted = n.has(2) ? n.integers(2) : std::vector<int64_t>();
  if (!wanted.empty() && wanted.size() != static_cast<size_t>(x.rank()))
    n.invalid("output_shape needs ", x.rank(), " numbers");
  for (int axis = 2; axis < x.rank(); ++axis) {
    const int i = axis - 2;
    const int64_t extent =
        (x[axis] - 1) * options.strides[i] + options.kernel[i] - options.before[i] - options.after[i];
    if (extent < 1) n.invalid("the pads leave nothing of axis ", axis);
    extents.push_back(extent), before.push_back(0);
    after.push_back(wanted.empty() ? 0 : wanted[static_cast<size_t>(axis)] - extent);
  }
  const Tensor y = max_unpool(n.tensor(0), n.tensor(1), extents, options);
  n.result(0, wanted.empty() ? y : pad(y, before, after));
}

void import_lrn(Node& n) {
  const int64_t size = n.integer("size");
  if (size < 1 || size > INT32_MAX) n.invalid("size is ", size);
  n.result(0,
           lrn(n.tensor(0), size,
               {.alpha = n.number("alpha", 1e-4f), .beta = n.number("beta", 0.75f), .bias = n.number("bias", 1.0f)}));
}

constexpr OpImporter kOps[] = {
    {"AveragePool", import_average_pool},
    {"Col2Im", import_col2im},
    {"Conv", import_conv},
    {"ConvInteger", import_conv_integer},
    {"ConvTranspose", import_conv_transpose},
    {"DeformConv", import_deform_conv},
    {"GlobalAveragePool", import_global_average_pool},
    {"GlobalLpPool", import_global_lp_pool},
    {"GlobalMaxPool", import_global_max_pool},
    {"LRN", import_lrn},
    {"LpPool", import_lp_pool},
    {"MaxPool", import_max_pool},
    {"MaxUnpool", import_max_unpool},
    {"QLinearConv", import_qlinear_conv},
};

}  // namespace

Importers conv_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
