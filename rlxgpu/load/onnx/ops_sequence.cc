// Sequences and optional values inside a model: lists that are known when it is loaded, of tensors that are not.
#include <algorithm>
#include <utility>
#include <vector>

#include "rlxgpu/kernels/movement/movement.h"
#include "rlxgpu/load/onnx/importers.h"
#include "rlxgpu/load/onnx/node.h"

namespace rlxgpu::core::onnx {
namespace {

const std::vector<Value>& items(Node& n, int k) {
  if (n.value(k).kind() != Value::Kind::sequence) n.invalid("operand ", k, " is not a sequence");
  return n.value(k).items();
}
int64_t position(Node& n, int k, int64_t count) {
  const int64_t given = n.integer(k), at = given < 0 ? given + count : given;
  if (at < 0 || at >= count) n.invalid("position ", given, " of ", count);
  return at;
}

void import_empty(Node& n) {
  n.ignore({"dtype"});
  n.result(0, Value::sequence({}));
}
void import_construct(Node& n) {
  std::vector<Value> all;
  for (int k = 0; k < n.count(); ++k) all.push_back(n.value(k));
  n.result(0, Value::sequence(std::move(all)));
}
void import_insert(Node& n) {
  std::vector<Value> all = items(n, 0);
  const auto count = static_cast<int64_t>(all.size());
  int64_t at = n.has(2) ? n.integer(2) : count;
  if (at < 0) at += count;
  if (at < 0 || at > count) n.invalid("position ", n.integer(2), " of ", count);
  all.insert(all.begin() + at, n.value(1));
  n.result(0, Value::sequence(std::move(all)));
}
void import_erase(Node& n) {
  std::vector<Value> all = items(n, 0);
  const auto count = static_cast<int64_t>(all.size());
  if (count == 0) n.invalid("the sequence is empty");
  all.erase(all.begin() + (n.has(1) ? position(n, 1, count) : count - 1));
  n.result(0, Value::sequence(std::move(all)));
}
void import_at(Node& n) {
  const std::vector<Value>& all = items(n, 0);
  n.result(0, all[static_cast<size_t>(position(n, 1, static_cast<int64_t>(all.size())))]);
}
void import_length(Node& n) {
  n.result(0, HostTensor::of_integers(ElementType::i64, {}, std::vector{static_cast<int64_t>(items(n, 0).size())}));
}

void import_split_to_sequence(Node& n) {
  const Tensor x = n.tensor(0);
  const int axis = n.axis(n.integer("axis", 0), n.rank(0));
  const int64_t extent = n.extent(0, axis);
  const bool keep = n.flag("keepdims", true) || n.has(1);
  std::vector<int64_t> lengths;
  if (n.has(1) && n.rank(1) > 0) {
    lengths = n.integers(1);
  } else {
    const int64_t each = n.has(1) ? n.integer(1) : 1;
    if (each < 1) n.invalid("pieces of ", each);
    for (int64_t at = 0; at < extent; at += each) lengths.push_back(std::min(each, extent - at));
  }
  std::vector<Value> parts;
  int64_t start = 0;
  for (const int64_t length : lengths) {
    if (length < 0 || length > extent - start) n.invalid("the pieces are longer than the axis");
    const Tensor part = narrow(x, axis, start, length);
    parts.push_back(Value::computed(keep ? part : squeeze(part, {axis}), n.type(0)));
    start += length;
  }
  n.check();
  n.result(0, Value::sequence(std::move(parts)));
}

void import_concat_from_sequence(Node& n) {
  const std::vector<Value>& all = items(n, 0);
  const bool fresh = n.flag("new_axis");
  if (all.empty()) n.invalid("the sequence is empty");
  const int axis = n.axis(n.integer("axis"), all[0].shape().rank() + (fresh ? 1 : 0));
  std::vector<Tensor> parts;
  for (const Value& item : all) parts.push_back(fresh ? unsqueeze(n.place(item), {axis}) : n.place(item));
  n.check();
  n.result(0, concat(parts, axis), all[0].type());
}

// An optional value is there or not when the model is loaded.
void import_optional(Node& n) {
  n.ignore({"type"});
  if (!n.has(0)) n.unsupported("an optional value without an element is not supported");
  n.result(0, Value(n.value(0)));
}
void import_has_element(Node& n) {
  n.result(0, HostTensor::of_integers(ElementType::boolean, {}, std::vector<int64_t>{n.has(0) ? 1 : 0}));
}
void import_get_element(Node& n) { n.result(0, Value(n.value(0))); }

constexpr OpImporter kOps[] = {
    {"ConcatFromSequence", import_concat_from_sequence},
    {"Optional", import_optional},
    {"OptionalGetElement", import_get_element},
    {"OptionalHasElement", import_has_element},
    {"SequenceAt", import_at},
    {"SequenceConstruct", import_construct},
    {"SequenceEmpty", import_empty},
    {"SequenceErase", import_erase},
    {"SequenceInsert", import_insert},
    {"SequenceLength", import_length},
    {"SplitToSequence", import_split_to_sequence},
};

}  // namespace

Importers sequence_importers() { return kOps; }

}  // namespace rlxgpu::core::onnx
