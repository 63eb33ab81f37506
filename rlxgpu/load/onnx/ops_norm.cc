// Normalisation. What training computes besides is refused.
#include <cmath>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/norm/norm.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/load/onnx/arguments.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

Axes last_axes(int first, int rank) {
  Axes axes;
  for (int axis = first; axis < rank; ++axis) axes.axis[axes.count++] = axis;
  return axes;
}

// Whether a weight has exactly the normalised axes; else it is applied apart, broadcast.
bool fits(Tensor weight, const Shape& x, int first) {
  bool same = weight.shape().rank() == x.rank() - first;
  for (int axis = first; same && axis < x.rank(); ++axis) same = weight.shape()[axis - first] == x[axis];
  return same;
}

void import_layer_norm(Node& n) {
  const Tensor x = n.tensor(0), weight = n.tensor(1), bias = n.tensor_or_none(2);
  const int rank = n.rank(0), first = n.axis(n.integer("axis", -1), rank);
  const NormOptions options{.axes = rank - first, .epsilon = n.number("epsilon", 1e-5f)};
  n.ignore({"stash_type"});  // we compute in f32 in any case
  const bool inside = fits(weight, x.shape(), first) && (!bias.given() || fits(bias, x.shape(), first));
  Tensor y = inside ? layer_norm(x, weight, bias, options) : layer_norm(x, {}, {}, options) * weight;
  if (!inside && bias.given()) y = y + bias;
  n.result(0, y);
  if (!n.wants(1) && !n.wants(2)) return;
  const Axes axes = last_axes(first, rank);
  const Tensor exact = cast(x, f32), middle = mean(exact, axes, {.keep_dims = true}), apart = exact - middle;
  n.result(1, middle, ElementType::f32);
  n.result(2, rsqrt(mean(apart * apart, axes, {.keep_dims = true}) + options.epsilon), ElementType::f32);
}

void import_rms_norm(Node& n) {
  const Tensor x = n.tensor(0), weight = n.tensor(1);
  const int rank = n.rank(0), first = n.axis(n.integer("axis", -1), rank);
  const NormOptions options{.axes = rank - first, .epsilon = n.number("epsilon", 1e-5f)};
  n.ignore({"stash_type"});
  n.result(0, fits(weight, x.shape(), first) ? rms_norm(x, weight, options) : rms_norm(x, {}, options) * weight);
}

void import_group_norm(Node& n) {
  const Tensor x = n.tensor(0);
  const int64_t groups = n.integer("num_groups");
  const float epsilon = n.number("epsilon", 1e-5f);
  n.ignore({"stash_type"});
  if (n.rank(0) < 2 || groups < 1 || n.extent(0, 1) % groups != 0)
    n.invalid("the channels are not ", groups, " equal groups");
  Tensor weight = n.tensor(1), bias = n.tensor(2);
  if (n.opset() < 21) {  // one for each group
    const int64_t each = n.extent(0, 1) / groups;
    const auto spread = [&](Tensor t) {
      return reshape(expand(unsqueeze(t, {1}), {groups, each}), {n.shape(0).dim(1)});
    };
    weight = spread(weight), bias = spread(bias);
  }
  n.result(0, group_norm(x, groups, weight, bias, epsilon));
}

void import_instance_norm(Node& n) {
  n.result(0, instance_norm(n.tensor(0), n.tensor(1), n.tensor(2), n.number("epsilon", 1e-5f)));
}

void import_batch_norm(Node& n) {
  n.ignore({"momentum", "spatial"});
  if (n.flag("training_mode")) n.unsupported("training mode is not supported");
  if (n.wants(1)) n.unsupported("results of training are not supported");
  n.result(0, batch_norm(n.tensor(0), n.tensor(3), n.tensor(4), n.tensor(1), n.tensor(2), n.number("epsilon", 1e-5f)));
}

void import_lp_norm(Node& n) {
  const Tensor x = n.tensor(0);
  const int axis = n.axis(n.integer("axis", -1), n.rank(0));
  const int64_t p = n.integer("p", 2);
  if (p != 1 && p != 2) n.invalid("p is ", p, ", not 1 or 2");
  const Tensor size = p == 1 ? l1(x, axis, {.keep_dims = true}) : l2(x, axis, {.keep_dims = true});
  n.result(0, x / size);  // NaN where all elements are 0
}

void import_mean_variance_norm(Node& n) {
  const Tensor x = n.tensor(0);
  std::vector<int64_t> given = n.integers("axes");
  if (given.empty()) given = {0, 2, 3};
  Axes axes;
  for (const int64_t axis : axes_of(n, given, n.rank(0))) axes.axis[axes.count++] = axis;
  const Tensor apart = x - mean(x, axes, {.keep_dims = true});
  n.result(0, apart / (sqrt(mean(apart * apart, axes, {.keep_dims = true})) + 1e-9));
}

void import_dropout(Node& n) {
  n.ignore({"ratio", "seed"});
  if (n.has(2) && n.flag(2)) n.unsupported("training mode is not supported");
  const Tensor x = n.tensor(0);
  n.result(0, x);
  if (n.wants(1)) n.result(1, expand(n.g().literal(1, boolean), x.shape()), ElementType::boolean);
}

constexpr OpImporter kOps[] = {
    {"BatchNormalization", import_batch_norm},
    {"Dropout", import_dropout},
    {"GroupNormalization", import_group_norm},
    {"InstanceNormalization", import_instance_norm},
    {"LayerNormalization", import_layer_norm},
    {"LpNormalization", import_lp_norm},
    {"MeanVarianceNormalization", import_mean_variance_norm},
    {"RMSNormalization", import_rms_norm},
};

}  // namespace

Importers norm_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
