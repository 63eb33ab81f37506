// Ops that move elements, or make tensors of coordinates and constants.
#include <algorithm>
#include <cmath>
#include <vector>

#include "rlxgpu/kernels/elementwise/elementwise.h"
#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/kernels/scatter/scatter.h"
#include "rlxgpu/load/onnx/arguments.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

std::vector<int64_t> extents(Node& n, int k) { return extents_of(n.shape(k)); }

// Element i of a small tensor, of rank 0.
Tensor element(Tensor x, int64_t i) {
  const Tensor flat = reshape(x, {Dim(x.shape().count())});
  return reshape(narrow(flat, 0, i, 1), Shape());
}

// Numbers 0, 1, 2... along one axis of a shape of this rank; extent 1 along the others.
Tensor coordinates(Builder& g, int rank, int axis, int64_t extent) {
  Shape shape;
  for (int i = 0; i < rank; ++i) shape.push_back(i == axis ? Dim(extent) : Dim(1));
  return reshape(iota(g, i32, extent), shape);
}

void import_identity(Node& n) { n.result(0, Value(n.value(0))); }

void import_constant(Node& n) {
  const auto floats = [](std::vector<float> values, std::vector<int64_t> shape) {
    return HostTensor::of_numbers(ElementType::f32, std::move(shape),
                                  std::vector<double>(values.begin(), values.end()));
  };
  if (n.has("value")) return n.result(0, n.elements("value"));
  if (n.has("value_float")) return n.result(0, floats({n.number("value_float")}, {}));
  if (n.has("value_int"))
    return n.result(0, HostTensor::of_integers(ElementType::i64, {}, std::vector{n.exact_integer("value_int")}));
  if (n.has("value_floats")) {
    const std::vector<float> values = n.numbers("value_floats");
    return n.result(0, floats(values, {static_cast<int64_t>(values.size())}));
  }
  if (n.has("value_ints")) {
    const std::vector<int64_t> values = n.exact_integers("value_ints");
    return n.result(0, HostTensor::of_integers(ElementType::i64, {static_cast<int64_t>(values.size())}, values));
  }
  n.unsupported("constants that are strings or sparse are not supported");
}

void import_constant_of_shape(Node& n) {
  const Shape shape = n.checked_shape(n.integers(0));
  ElementType type = ElementType::f32;
  Tensor value = n.g().literal(0, f32);
  if (n.has("value")) {
    const HostTensor& given = n.elements("value");
    type = given.type();
    if (given.count() != 1 || is_small_float(type)) n.unsupported("value is not one plain number");
    value = n.g().literal(given.number(0), n.carrier(type));
  }
  n.result(0, expand(value, shape), type);
}

void import_shape(Node& n) {
  const std::vector<int64_t> all = extents(n, 0);
  const auto rank = static_cast<int64_t>(all.size());
  const auto place = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  const int64_t start = place(n.integer("start", 0)), end = place(n.has("end") ? n.integer("end") : rank);
  std::vector<int64_t> part;
  for (int64_t i = start; i < end; ++i) part.push_back(all[static_cast<size_t>(i)]);
  n.result(0, HostTensor::of_integers(ElementType::i64, {static_cast<int64_t>(part.size())}, part));
}
void import_size(Node& n) {
  n.result(0, HostTensor::of_integers(ElementType::i64, {}, std::vector{n.shape(0).count()}));
}

void import_reshape(Node& n) {
  const std::vector<int64_t> to = reshaped(n, integers_of(n, "shape", 1), extents(n, 0), n.flag("allowzero"));
  n.result(0, reshape(n.tensor(0), n.checked_shape(to)));
}
void import_flatten(Node& n) {
  const int rank = n.rank(0);
  const int64_t axis = n.integer("axis", 1);
  n.result(0, flatten(n.tensor(0), axis == rank ? rank : n.axis(axis, std::max(rank, 1))));
}
void import_squeeze(Node& n) {
  n.result(0, reshape(n.tensor(0), shape_of(squeezed(n, extents(n, 0), integers_of(n, "axes", 1)))));
}
void import_unsqueeze(Node& n) {
  n.result(0, reshape(n.tensor(0), shape_of(unsqueezed(n, extents(n, 0), integers_of(n, "axes", 1)))));
}
void import_transpose(Node& n) {
  const Tensor x = n.tensor(0);
  std::vector<int64_t> order = n.integers("perm");
  if (order.empty()) {
    for (int axis = n.rank(0) - 1; axis >= 0; --axis) order.push_back(axis);
  }
  n.result(0, transpose(x, list_of(order)));
}

void import_slice(Node& n) {
  IntList starts, ends, steps;
  for (const Cut& cut : cuts_of(n, extents(n, 0))) {
    const bool empty = cut.count == 0;
    starts.push_back(empty ? 0 : cut.start);
    ends.push_back(empty ? 0 : cut.end < 0 ? kBegin : cut.end);
    steps.push_back(empty ? 1 : cut.step);
  }
  n.result(0, slice(n.tensor(0), starts, ends, steps));
}

void import_concat(Node& n) {
  const int axis = n.axis(n.integer("axis", 1), n.rank(0));
  std::vector<Tensor> parts;
  for (int k = 0; k < n.count(); ++k) parts.push_back(n.tensor(k));
  n.result(0, concat(parts, axis));
}

void import_split(Node& n) {
  const int axis = n.axis(n.integer("axis", 0), n.rank(0));
  const Vec<Tensor> pieces = split(n.tensor(0), split_lengths(n, n.extent(0, axis)), axis);
  for (int k = 0; k < n.result_count(); ++k) n.result(k, pieces[static_cast<size_t>(k)]);
}

void import_expand(Node& n) {
  Shape to;
  if (!broadcast(n.shape(0), n.checked_shape(n.integers(1)), to)) n.invalid("the shapes do not fit");
  n.result(0, expand(n.tensor(0), to));
}

void import_tile(Node& n) {
  const std::vector<int64_t> repeats = n.integers(1);
  if (static_cast<int>(repeats.size()) != n.rank(0)) n.invalid("repeats has another length than the operand's rank");
  std::vector<int64_t> to = extents(n, 0);
  for (size_t i = 0; i < to.size(); ++i) {
    if (repeats[i] < 0 || repeats[i] > INT32_MAX) n.invalid("a repeat is ", repeats[i]);
    to[i] *= repeats[i];
  }
  n.checked_shape(to);
  n.result(0, tile(n.tensor(0), list_of(repeats)));
}

void import_pad(Node& n) {
  const Tensor x = n.tensor(0);
  const int rank = n.rank(0);
  const std::string mode = n.text("mode", "constant");
  const std::vector<int64_t> pads = integers_of(n, "pads", 1);
  std::vector<int64_t> axes = n.has(3) ? n.integers(3) : std::vector<int64_t>();
  if (!n.has(3)) {
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  }
  if (pads.size() != 2 * axes.size()) n.invalid("pads has ", pads.size(), " numbers, not two for each axis");
  IntList before, after;
  before.resize(rank, 0);
  after.resize(rank, 0);
  std::vector<int64_t> to = extents(n, 0);
  for (size_t i = 0; i < axes.size(); ++i) {
    const int axis = n.axis(axes[i], rank);
    for (const int64_t pad : {pads[i], pads[axes.size() + i]}) {
      if (pad < -INT32_MAX || pad > INT32_MAX) n.invalid("a pad is ", pad);
      to[static_cast<size_t>(axis)] += pad;
    }
    before[axis] = pads[i];
    after[axis] = pads[axes.size() + i];
  }
  n.checked_shape(to);
  if (mode == "reflect") return n.result(0, pad(x, before, after, PadMode::reflect));
  if (mode == "edge") return n.result(0, pad(x, before, after, PadMode::edge));
  if (mode == "wrap") return n.result(0, pad(x, before, after, PadMode::wrap));
  if (mode != "constant") n.unsupported("mode \"", mode, "\" is not supported");
  if (n.has(2)) return n.result(0, pad(x, before, after, PadMode::constant, element(n.tensor(2), 0)));
  const Tensor value = n.g().literal(n.opset() < 11 ? n.number("value", 0.0f) : 0.0, x.dtype());
  n.result(0, pad(x, before, after, PadMode::constant, value));
}

void import_gather(Node& n) { n.result(0, gather(n.tensor(0), n.tensor(1), n.axis(n.integer("axis", 0), n.rank(0)))); }
void import_gather_elements(Node& n) {
  n.result(0, gather_elements(n.tensor(0), n.tensor(1), n.axis(n.integer("axis", 0), n.rank(0))));
}
void import_gather_nd(Node& n) { n.result(0, gather_nd(n.tensor(0), n.tensor(1), n.small_integer("batch_dims", 0))); }

Scatter reduction(Node& n) {
  const std::string name = n.text("reduction", "none");
  if (name == "add") return Scatter::add;
  if (name == "mul") return Scatter::mul;
  if (name == "max") return Scatter::max;
  if (name == "min") return Scatter::min;
  if (name != "none") n.unsupported("reduction \"", name, "\" is not supported");
  return Scatter::replace;
}
void import_scatter_elements(Node& n) {
  const int axis = n.axis(n.integer("axis", 0), n.rank(0));
  n.result(0, scatter_elements(n.tensor(0), n.tensor(1), n.tensor(2), axis, reduction(n)));
}
void import_scatter_nd(Node& n) { n.result(0, scatter_nd(n.tensor(0), n.tensor(1), n.tensor(2), reduction(n))); }

// A cache that is written from a position on, which may differ from batch to batch.
void import_tensor_scatter(Node& n) {
  const Tensor cache = n.tensor(0), update = n.tensor(1);
  const int rank = n.rank(0), axis = n.axis(n.integer("axis", -2), rank);
  const std::string mode = n.text("mode", "linear");
  if (mode != "linear" && mode != "circular") n.invalid("mode is \"", mode, "\"");
  Tensor place = coordinates(n.g(), rank, axis, n.extent(1, axis));
  if (n.has(2)) {
    Shape batches;
    for (int i = 0; i < rank; ++i) batches.push_back(i == 0 ? n.shape(0).dim(0) : Dim(1));
    place = place + reshape(n.tensor(2), batches);
  }
  if (mode == "circular") place = mod(place, static_cast<int>(n.extent(0, axis)));
  n.result(0, scatter_elements(cache, expand(place, update.shape()), update, axis));
}

int64_t block_of(Node& n) {
  const int64_t block = n.integer("blocksize");
  if (block < 1 || block > 32768) n.invalid("blocksize is ", block);
  return block;
}
void import_depth_to_space(Node& n) {
  const std::string mode = n.text("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") n.invalid("mode is \"", mode, "\"");
  n.result(0, depth_to_space(n.tensor(0), block_of(n), mode == "CRD" ? DepthOrder::CRD : DepthOrder::DCR));
}
void import_space_to_depth(Node& n) { n.result(0, space_to_depth(n.tensor(0), block_of(n))); }

void import_trilu(Node& n) {
  const int64_t k = n.has(1) ? std::clamp<int64_t>(n.integer(1), -INT32_MAX, INT32_MAX) : 0;
  n.result(0, n.flag("upper", true) ? triu(n.tensor(0), k) : tril(n.tensor(0), k));
}

void import_one_hot(Node& n) {
  const int64_t depth = n.integer(1), axis = n.axis(n.integer("axis", -1), n.rank(0) + 1);
  if (depth < 0 || depth > INT32_MAX) n.invalid("depth is ", depth);
  if (n.shape(2).count() != 2) n.invalid("values are not two");
  const Tensor values = n.tensor(2);
  n.result(0, apply(kOneHot, {cast(n.tensor(0), i32), element(values, 0), element(values, 1)}, {axis, depth}, Site()),
           n.type(2));
}

void import_range(Node& n) {
  const double start = n.number(0), limit = n.number(1), step = n.number(2);
  if (!(std::abs((limit - start) / step) < 2147483647.0))
    n.invalid("start, limit and step make no list of at most 2^31 - 1 numbers");
  n.result(0, range(n.g(), n.carrier(n.type(0)), start, limit, step));
}

void import_eye_like(Node& n) {
  const ElementType type = n.has("dtype") ? n.element_type("dtype") : n.type(0);
  const int64_t k = n.integer("k", 0);
  if (n.rank(0) != 2 || std::abs(k) > INT32_MAX) n.invalid("the operand is not a matrix, or k is too large");
  const Tensor rows = coordinates(n.g(), 2, 0, n.extent(0, 0)), cols = coordinates(n.g(), 2, 1, n.extent(0, 1));
  n.result(0, cast(eq(cols, rows + static_cast<int>(k)), n.carrier(type)), type);
}

void import_reverse_sequence(Node& n) {
  const Tensor x = n.tensor(0);
  const int rank = n.rank(0), batch = n.axis(n.integer("batch_axis", 1), rank),
            time = n.axis(n.integer("time_axis", 0), rank);
  Shape batches;
  for (int i = 0; i < rank; ++i) batches.push_back(i == batch ? n.shape(0).dim(i) : Dim(1));
  const Tensor length = reshape(n.tensor(1), batches), step = coordinates(n.g(), rank, time, n.extent(0, time));
  const Tensor from = where(lt(step, length), length - 1 - step, step);
  n.result(0, gather_elements(x, expand(from, x.shape()), time));
}

constexpr OpImporter kOps[] = {
    {"Concat", import_concat},
    {"Constant", import_constant},
    {"ConstantOfShape", import_constant_of_shape},
    {"DepthToSpace", import_depth_to_space},
    {"Expand", import_expand},
    {"EyeLike", import_eye_like},
    {"Flatten", import_flatten},
    {"Gather", import_gather},
    {"GatherElements", import_gather_elements},
    {"GatherND", import_gather_nd},
    {"Identity", import_identity},
    {"OneHot", import_one_hot},
    {"Pad", import_pad},
    {"Range", import_range},
    {"Reshape", import_reshape},
    {"ReverseSequence", import_reverse_sequence},
    {"Scatter", import_scatter_elements},
    {"ScatterElements", import_scatter_elements},
    {"ScatterND", import_scatter_nd},
    {"Shape", import_shape},
    {"Size", import_size},
    {"Slice", import_slice},
    {"SpaceToDepth", import_space_to_depth},
    {"Split", import_split},
    {"Squeeze", import_squeeze},
    {"TensorScatter", import_tensor_scatter},
    {"Tile", import_tile},
    {"Transpose", import_transpose},
    {"Trilu", import_trilu},
    {"Unsqueeze", import_unsqueeze},
};

}  // namespace

Importers movement_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
