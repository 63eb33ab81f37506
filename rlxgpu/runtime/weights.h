// Weights: a model's parameters, uploaded once and shared by every engine that is given them.
// States: what engines keep from run to run (a KV cache), shared in the same way.
//
//   Weights weights(device);
//   weights.set("w0", f32, {768, 3072}, std::as_bytes(std::span(w0)));
//   auto prefill = Engine::create(device, prefill_program, kernels, {.weights = weights, .states = states});
//   auto decode = Engine::create(device, decode_program, kernels, {.weights = weights, .states = states});
//
// Both are handles: copies are cheap and mean the same tensors. An engine takes them by name and checks
// dtype and shape. They may be set before or after it is created, and set again at any time: later runs
// see the new data, runs already submitted do not. Many small weights share one device buffer. Thread-safe.
#ifndef RLXGPU_RUNTIME_WEIGHTS_H_
#define RLXGPU_RUNTIME_WEIGHTS_H_

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/element_types.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

namespace internal {
class TensorStore;
}

// What Weights and States have in common.
class NamedTensors {
 public:
  // `data` holds all elements in storage layout (dtype.h) and is copied at once. A name keeps its dtype and shape.
  Status set(std::string_view name, DType dtype, const Shape& shape, std::span<const std::byte> data) const;
  // The same from elements: set("w", {2, 2}, vector), or set("w", {2}, {1.0f, 2.0f}).
  template <typename Container>
    requires requires(const Container& c) { std::data(c); std::size(c); }
  Status set(std::string_view name, const Shape& shape, const Container& elements) const {
    constexpr DType kDType = internal::storage_of<internal::ElementOfContainer<Container>>();
    const std::span given(std::data(elements), std::size(elements));
    if (static_cast<int64_t>(given.size()) != shape.count()) return wrong_count(name, kDType, shape, given.size());
    return set(name, kDType, shape, std::as_bytes(given));
  }
  template <typename T>
  Status set(std::string_view name, const Shape& shape, std::initializer_list<T> elements) const {
    return set(name, shape, std::span<const T>(elements.begin(), elements.size()));
  }
  // Waits for the device; `out` is of the tensor's size.
  Status get(std::string_view name, std::span<std::byte> out) const;
  // The memory of a tensor that is there: what is written to it, later runs see.
  Result<DeviceTensor> tensor(std::string_view name) const;
  // The same, made when there is none of this name: to be filled on the device. It counts as set.
  Result<DeviceTensor> add(std::string_view name, DType dtype, const Shape& shape) const;
  bool has(std::string_view name) const;  // it was set or added
  // Of tensors that will be set soon, each rounded up to 256: buffers are then made for that much, and no more.
  void reserve(uint64_t bytes) const;

  size_t count() const;         // of tensors
  size_t buffer_count() const;  // of device buffers that hold them
  uint64_t device_bytes() const;

  explicit operator bool() const { return store_ != nullptr; }
  const std::shared_ptr<internal::TensorStore>& store() const { return store_; }  // for runtime/

 protected:
  NamedTensors() = default;
  static Status wrong_count(std::string_view name, DType dtype, const Shape& shape, size_t given);
  std::shared_ptr<internal::TensorStore> store_;
};

class Weights : public NamedTensors {
 public:
  Weights() = default;  // none: an engine makes its own
  explicit Weights(const Device& device);
};

class States : public NamedTensors {
 public:
  States() = default;  // none: an engine makes its own
  explicit States(const Device& device);
  Status clear() const;  // zero again, as at first
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::NamedTensors, core::States, core::Weights;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_WEIGHTS_H_
