// Ops whose results are as long as the data say: computed as long as they can be, and cut where the model gives them
// out.
#include <vector>

#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/select/nms.h"
#include "rlxgpu/kernels/select/select.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

void import_non_zero(Node& n) {
  const Selected s = nonzero(n.tensor(0));
  n.result(0, s.values, ElementType::i64, {1, s.count});
}

void import_compress(Node& n) {
  const bool flat = !n.has("axis");
  const Tensor x = flat ? reshape(n.tensor(0), {Dim(n.shape(0).count())}) : n.tensor(0);
  const int axis = flat ? 0 : n.axis(n.integer("axis"), n.rank(0));
  if (!n.can_be_known(1)) {
    Tensor flags = n.tensor(1);
    if (flags.shape().rank() == 1 && flags.shape()[0] > x.shape()[axis]) flags = narrow(flags, 0, 0, x.shape()[axis]);
    const Selected s = compress(x, flags, axis);
    return n.result(0, s.values, n.type(0), {axis, s.count});
  }
  const std::vector<int64_t> condition = n.integers(1);
  std::vector<uint32_t> chosen;
  for (size_t i = 0; i < condition.size() && static_cast<int64_t>(i) < x.shape()[axis]; ++i) {
    if (condition[i] != 0) chosen.push_back(static_cast<uint32_t>(i));
  }
  const Tensor indices = n.g().constant(i32, {Dim(static_cast<int64_t>(chosen.size()))}, chosen);
  n.result(0, gather(x, indices, axis));
}

void import_unique(Node& n) {
  const UniqueOptions options{.sorted = n.flag("sorted", true)};
  const bool flat = !n.has("axis");
  const int axis = flat ? 0 : n.axis(n.integer("axis"), n.rank(0));
  const Unique u = flat ? unique(n.tensor(0), options) : unique(n.tensor(0), axis, options);
  n.check();
  n.result(0, u.values, n.type(0), {axis, u.count});
  n.result(1, u.first, ElementType::i64, {0, u.count});
  n.result(2, u.inverse, ElementType::i64);
  n.result(3, u.counts, ElementType::i64, {0, u.count});
}

void import_non_max_suppression(Node& n) {
  NmsOptions options;
  options.centers = n.flag("center_point_box");
  options.most = n.has(2) ? n.integer(2) : 0;
  options.overlap = n.has(3) ? static_cast<float>(n.number(3)) : 0.0f;
  options.has_score = n.has(4);
  if (options.has_score) options.score = static_cast<float>(n.number(4));
  const Selected s = non_max_suppression(n.tensor(0), n.tensor(1), options);
  n.result(0, s.values, ElementType::i64, {0, s.count});
}

constexpr OpImporter kOps[] = {
    {"Compress", import_compress},
    {"NonMaxSuppression", import_non_max_suppression},
    {"NonZero", import_non_zero},
    {"Unique", import_unique},
};

}  // namespace

Importers select_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
