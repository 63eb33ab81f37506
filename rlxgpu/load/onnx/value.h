// Value: what a name of an ONNX graph stands for while it is imported: a tensor of the graph being built, a tensor
// whose elements are known already, a sequence of values, or nothing.
//
// Known are initialisers, and what follows from them and from shapes alone: see fold.h. A known value becomes part of
// the graph (as a constant or a weight) only when an op reads it there.
#ifndef RLXGPU_LOAD_ONNX_VALUE_H_
#define RLXGPU_LOAD_ONNX_VALUE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rlxgpu/graph/builder.h"
#include "rlxgpu/load/onnx/host_tensor.h"

namespace rlxgpu::core::onnx {

// How much of a result means something where only the data say it: along one axis, so many (i32, rank 0).
struct Bound {
  int axis = 0;
  Tensor count;
};

class Value {
 public:
  enum class Kind : uint8_t { absent, broken, tensor, sequence };

  Value() = default;
  static Value broken() {  // a node that failed would have computed it
    Value value;
    value.kind_ = Kind::broken;
    return value;
  }
  static Value known(HostTensor elements, std::string name = "") {
    Value value;
    value.kind_ = Kind::tensor;
    value.type_ = elements.type();
    value.shape_ = shape_of(elements.shape());
    value.known_ = std::make_shared<Known>(Known{std::move(elements), std::move(name), Tensor()});
    return value;
  }
  static Value computed(Tensor tensor, ElementType type) {
    Value value;
    value.kind_ = Kind::tensor;
    value.type_ = type;
    value.shape_ = tensor.shape();
    value.tensor_ = tensor;
    return value;
  }
  // As long as it can be; the device says how long it is. Nothing but an output of the model may read it.
  static Value bounded(Tensor tensor, ElementType type, const Bound& bound) {
    Value value = computed(tensor, type);
    value.bound_ = bound;
    return value;
  }
  static Value sequence(std::vector<Value> items) {
    Value value;
    value.kind_ = Kind::sequence;
    value.items_ = std::move(items);
    return value;
  }

  Kind kind() const { return kind_; }
  bool given() const { return kind_ != Kind::absent; }
  ElementType type() const { return type_; }
  const Shape& shape() const { return shape_; }
  const std::vector<Value>& items() const { return items_; }

  const Bound* bound() const { return bound_.count.given() ? &bound_ : nullptr; }

  bool is_known() const { return known_ != nullptr; }
  const HostTensor& elements() const { return known_->elements; }  // of a known value

  // Model inputs that it is computed from, whose elements somebody could give: see Importer.
  std::vector<int>& inputs() { return inputs_; }
  const std::vector<int>& inputs() const { return inputs_; }

  // For Importer: the tensor of a computed value; where a known one went when it was first read by an op.
  Tensor tensor() const { return tensor_; }
  Tensor& placed() const { return known_->placed; }
  const std::string& name() const { return known_->name; }

 private:
  struct Known {
    HostTensor elements;
    std::string name;  // of the initialiser, or ""
    Tensor placed;
  };
  Kind kind_ = Kind::absent;
  ElementType type_ = ElementType::undefined;
  Shape shape_;
  Tensor tensor_;
  Bound bound_;
  std::shared_ptr<Known> known_;
  std::vector<Value> items_;
  std::vector<int> inputs_;
};

}  // namespace rlxgpu::core::onnx

#endif  // RLXGPU_LOAD_ONNX_VALUE_H_
