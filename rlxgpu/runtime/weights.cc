#include "rlxgpu/runtime/weights.h"

#include "absl/strings/str_cat.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/runtime/tensor_store.h"

namespace rlxgpu::core {
namespace {

std::shared_ptr<internal::TensorStore> make_store(const Device& device, internal::TensorStore::Kind kind) {
  return device ? std::make_shared<internal::TensorStore>(device.state(), kind) : nullptr;
}

absl::Status no_device() { return absl::FailedPreconditionError("weights without a device: use Weights(device)"); }

}  // namespace

Status NamedTensors::set(std::string_view name, DType dtype, const Shape& shape,
                         std::span<const std::byte> data) const {
  return store_ ? store_->set(name, TensorType{dtype, shape}, data) : no_device();
}

Status NamedTensors::wrong_count(std::string_view name, DType dtype, const Shape& shape, size_t given) {
  Text type;
  type << name_of(dtype) << shape;
  return absl::InvalidArgumentError(
      absl::StrCat("\"", name, "\": ", given, " elements given, ", shape.count(), " needed for ", type.view()));
}

Status NamedTensors::get(std::string_view name, std::span<std::byte> out) const {
  return store_ ? store_->get(name, out) : no_device();
}

Result<DeviceTensor> NamedTensors::tensor(std::string_view name) const {
  if (!store_) return no_device();
  absl::StatusOr<DeviceTensor> found = store_->tensor(name);
  if (!found.ok()) return found.status();
  return *std::move(found);
}

Result<DeviceTensor> NamedTensors::add(std::string_view name, DType dtype, const Shape& shape) const {
  if (!store_) return no_device();
  absl::StatusOr<DeviceTensor> added = store_->add(name, TensorType{dtype, shape});
  if (!added.ok()) return added.status();
  return *std::move(added);
}

bool NamedTensors::has(std::string_view name) const { return store_ && store_->is_set(name); }

void NamedTensors::reserve(uint64_t bytes) const {
  if (store_) store_->reserve(bytes);
}

size_t NamedTensors::count() const { return store_ ? store_->count() : 0; }
size_t NamedTensors::buffer_count() const { return store_ ? store_->buffer_count() : 0; }
uint64_t NamedTensors::device_bytes() const { return store_ ? store_->bytes() : 0; }

Weights::Weights(const Device& device) { store_ = make_store(device, internal::TensorStore::Kind::packed); }
States::States(const Device& device) { store_ = make_store(device, internal::TensorStore::Kind::apart); }

Status States::clear() const { return store_ ? store_->clear() : no_device(); }

}  // namespace rlxgpu::core
