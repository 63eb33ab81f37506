// Reductions, scans, and the order of elements.
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/reduce/arg.h"
#include "rlxgpu/kernels/reduce/reduce.h"
#include "rlxgpu/kernels/scan/scan.h"
#include "rlxgpu/kernels/sort/sort.h"
#include "rlxgpu/load/onnx/arguments.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

struct Reduced {
  Axes axes;
  bool keep = true;
  bool nothing = false;  // no axes: the operand as it is
};
Reduced arguments(Node& n) {
  const std::vector<int64_t> axes = axes_of(n, integers_of(n, "axes", 1), n.rank(0));
  Reduced r{.axes = {}, .keep = n.flag("keepdims", true)};
  for (const int64_t axis : axes) r.axes.axis[r.axes.count++] = axis;
  r.nothing = n.flag("noop_with_empty_axes") && axes.empty();
  return r;
}

// `before` is applied to elements even when no axis is reduced.
template <typename Before, typename Reduce, typename After>
void reduction(Node& n, Before before, Reduce reduce, After after) {
  const Reduced r = arguments(n);
  const Tensor x = before(n.tensor(0));
  n.result(0, n.wrapped(after(r.nothing || n.rank(0) == 0 ? x : reduce(x, r.axes, ReduceOptions{.keep_dims = r.keep})),
                        n.type(0)));
}
constexpr auto kAsIs = [](Tensor x) { return x; };

void import_sum(Node& n) {
  reduction(n, kAsIs, [](Tensor x, Axes a, ReduceOptions o) { return sum(x, a, o); }, kAsIs);
}
void import_prod(Node& n) {
  reduction(n, kAsIs, [](Tensor x, Axes a, ReduceOptions o) { return prod(x, a, o); }, kAsIs);
}
void import_max(Node& n) {
  reduction(
      n, kAsIs,
      [](Tensor x, Axes a, ReduceOptions o) { return x.dtype() == boolean ? any(x, a, o) : reduce_max(x, a, o); },
      kAsIs);
}
void import_min(Node& n) {
  reduction(
      n, kAsIs,
      [](Tensor x, Axes a, ReduceOptions o) { return x.dtype() == boolean ? all(x, a, o) : reduce_min(x, a, o); },
      kAsIs);
}
// Integers, too: the sum divided, rounded towards 0.
void import_mean(Node& n) {
  reduction(
      n, kAsIs,
      [](Tensor x, Axes a, ReduceOptions o) {
        if (is_float(x.dtype())) return mean(x, a, o);
        const Tensor total = sum(x, a, o);
        return total / static_cast<int>(total.shape().count() == 0 ? 1 : x.shape().count() / total.shape().count());
      },
      kAsIs);
}
Tensor magnitude(Tensor x) { return x.dtype() == u32 || x.dtype() == u8 ? x : abs(x); }
void import_l1(Node& n) {
  reduction(n, magnitude, [](Tensor x, Axes a, ReduceOptions o) { return sum(x, a, o); }, kAsIs);
}
void import_sum_square(Node& n) {
  reduction(n, [](Tensor x) { return x * x; }, [](Tensor x, Axes a, ReduceOptions o) { return sum(x, a, o); }, kAsIs);
}
// Of integers in f32, without the fraction.
void import_l2(Node& n) {
  const DType dtype = n.carrier(n.type(0));
  reduction(
      n, [](Tensor x) { return is_float(x.dtype()) ? x : cast(x, f32); },
      [](Tensor x, Axes a, ReduceOptions o) { return l2(x, a, o); }, [&](Tensor x) { return cast(x, dtype); });
}
void import_log_sum(Node& n) {
  reduction(n, kAsIs, [](Tensor x, Axes a, ReduceOptions o) { return sum(x, a, o); }, [](Tensor x) { return log(x); });
}
void import_log_sum_exp(Node& n) {
  reduction(n, kAsIs, [](Tensor x, Axes a, ReduceOptions o) { return log_sum_exp(x, a, o); }, kAsIs);
}

// With select_last_index the axis is read backwards.
template <typename Op>
void arg(Node& n, Op op) {
  Tensor x = n.tensor(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(0));
  const ReduceOptions options{.keep_dims = n.flag("keepdims", true)};
  if (!n.flag("select_last_index")) return n.result(0, op(x, axis, options), ElementType::i64);
  const auto last = static_cast<int>(n.extent(0, axis) - 1);
  n.result(0, neg(op(reverse(x, {axis}), axis, options)) + last, ElementType::i64);
}
void import_argmax(Node& n) {
  arg(n, [](Tensor x, int axis, ReduceOptions o) { return argmax(x, axis, o); });
}
void import_argmin(Node& n) {
  arg(n, [](Tensor x, int axis, ReduceOptions o) { return argmin(x, axis, o); });
}

template <typename Op>
void scan(Node& n, Op op) {
  const int axis = n.axis(n.integer(1), n.rank(0));
  const ScanOptions options{.exclusive = n.flag("exclusive"), .reverse = n.flag("reverse")};
  n.result(0, n.wrapped(op(n.tensor(0), axis, options), n.type(0)));
}
void import_cumsum(Node& n) {
  scan(n, [](Tensor x, int axis, ScanOptions o) { return cumsum(x, axis, o); });
}
void import_cumprod(Node& n) {
  scan(n, [](Tensor x, int axis, ScanOptions o) { return cumprod(x, axis, o); });
}

void import_topk(Node& n) {
  const int64_t k = n.has("k") ? n.integer("k") : n.integer(1);
  const int axis = n.axis(n.integer("axis", -1), n.rank(0));
  n.ignore({"sorted"});  // it always is
  if (k < 0 || k > n.extent(0, axis)) n.invalid("k is ", k, ", the axis has ", n.extent(0, axis));
  const TopK best = topk(n.tensor(0), k, axis, n.flag("largest", true));
  n.result(0, best.values);
  n.result(1, best.indices, ElementType::i64);
}

constexpr OpImporter kOps[] = {
    {"ArgMax", import_argmax},
    {"ArgMin", import_argmin},
    {"CumProd", import_cumprod},
    {"CumSum", import_cumsum},
    {"ReduceL1", import_l1},
    {"ReduceL2", import_l2},
    {"ReduceLogSum", import_log_sum},
    {"ReduceLogSumExp", import_log_sum_exp},
    {"ReduceMax", import_max},
    {"ReduceMean", import_mean},
    {"ReduceMin", import_min},
    {"ReduceProd", import_prod},
    {"ReduceSum", import_sum},
    {"ReduceSumSquare", import_sum_square},
    {"TopK", import_topk},
};

}  // namespace

Importers reduce_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
