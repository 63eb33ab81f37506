// DeviceTensor: typed, shaped memory of a device, as a value.
//
//   Result<DeviceTensor> x = DeviceTensor::of(device, {2, 3}, numbers);     // or ::create(device, f32, {2, 3}): zeros
//   encoder.bind<"y">(*x);   decoder.bind<"x">(*x);                         // one writes what the other reads
//   Result<DeviceTensor> kept = x->clone();                                 // a copy, on the device
//   copy_range(*cache, 0, *kept, 0, positions, 1);                          // `positions` along axis 1
//   Transfer reading = x->read();   ...   reading.get<float>();             // without stopping for it
//
// A handle: copies are cheap and mean the same memory, which goes with the last handle and the last executable that it
// is bound to. All work is done in the order of the calls, together with runs: what is read after a run is what it
// wrote. The elements lie in storage layout (dtype.h) and in memory order. Thread-compatible; like all that is on a
// device, it may outlive it, and is then a status.
#ifndef RLXGPU_RUNTIME_DEVICE_TENSOR_H_
#define RLXGPU_RUNTIME_DEVICE_TENSOR_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/element_types.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

namespace internal {
struct TensorState;
struct TransferState;
}  // namespace internal

// A read or write that is under way, or done. May be dropped at any time: it happens all the same.
class Transfer {
 public:
  Transfer() = default;

  bool ready() const;  // wait() would return at once
  Status wait() const;
  Status wait_for(double seconds) const;  // DeadlineExceeded when it is not done by then; it goes on
  // Waits, then copies what was read. Only for reads.
  Status get(std::span<std::byte> out) const;
  template <typename T>
  Result<std::vector<T>> get() const {
    if (Status status = check(internal::storage_of<T>()); !status.ok()) return status;
    std::vector<T> elements(static_cast<size_t>(count()));
    if (Status status = get(std::as_writable_bytes(std::span(elements))); !status.ok()) return status;
    return elements;
  }

  explicit Transfer(std::shared_ptr<internal::TransferState> state) : state_(std::move(state)) {}

 private:
  Status check(DType dtype) const;
  int64_t count() const;
  std::shared_ptr<internal::TransferState> state_;
};

class DeviceTensor {
 public:
  DeviceTensor() = default;  // none: every use of it is a FailedPrecondition

  // Zeros.
  static Result<DeviceTensor> create(const Device& device, DType dtype, const Shape& shape,
                                     std::string_view label = "tensor");
  // The elements of a vector, array or span, copied at once.
  template <typename Container>
  static Result<DeviceTensor> of(const Device& device, const Shape& shape, const Container& elements,
                                 std::string_view label = "tensor") {
    return of_bytes(device, internal::storage_of<internal::ElementOfContainer<Container>>(), shape,
                    std::as_bytes(std::span(std::data(elements), std::size(elements))), label);
  }
  static Result<DeviceTensor> of_bytes(const Device& device, DType dtype, const Shape& shape,
                                       std::span<const std::byte> elements, std::string_view label = "tensor");

  DType dtype() const;
  const Shape& shape() const;
  int64_t count() const { return shape().count(); }
  uint64_t bytes() const;  // of its elements
  Device device() const;

  // The same memory with another shape of as many elements.
  Result<DeviceTensor> reshaped(const Shape& shape) const;
  // Part of the same memory: rows [first, first + count) of the first axis. To be bound, a part begins at a multiple of
  // what the adapter wants (Target::offset_alignment, at most 256 bytes) and ends at a multiple of 16.
  Result<DeviceTensor> rows(int64_t first, int64_t count) const;

  // Copies on the device; both have the same type and as many elements.
  Status copy_from(const DeviceTensor& from) const;
  Result<DeviceTensor> clone() const;
  Status clear() const;  // zeros

  // All elements. What is written is copied at once; what is read is as after all that was submitted before.
  Transfer write(std::span<const std::byte> elements) const;
  Transfer read() const;
  template <typename Container>
    requires(!std::is_convertible_v<const Container&, std::span<const std::byte>>)
  Transfer write(const Container& elements) const {
    return write_elements(internal::storage_of<internal::ElementOfContainer<Container>>(),
                          std::as_bytes(std::span(std::data(elements), std::size(elements))));
  }
  // Reads and waits.
  template <typename T>
  Result<std::vector<T>> to_host() const {
    return read().template get<T>();
  }

  explicit operator bool() const { return state_ != nullptr; }
  explicit DeviceTensor(std::shared_ptr<const internal::TensorState> state) : state_(std::move(state)) {}
  const std::shared_ptr<const internal::TensorState>& state() const { return state_; }  // for runtime/

 private:
  Transfer write_elements(DType dtype, std::span<const std::byte> elements) const;

  std::shared_ptr<const internal::TensorState> state_;
};

// Copies `count` slices along an axis, from index `first` of one tensor to index `at` of the other, which may be the
// same one. All other extents are equal. One submit, whatever the axis.
Status copy_range(const DeviceTensor& from, int64_t first, const DeviceTensor& to, int64_t at, int64_t count,
                  int axis = 0);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::DeviceTensor, core::Transfer, core::copy_range;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_DEVICE_TENSOR_H_
