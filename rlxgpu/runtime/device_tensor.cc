#include "rlxgpu/runtime/device_tensor.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "rlxgpu/base/text.h"
#include "rlxgpu/runtime/tensor_state.h"

namespace rlxgpu::core {
namespace internal {

std::string text_of(const TensorType& type) {
  Text text;
  text << name_of(type.dtype) << type.shape;
  return std::string(text.view());
}

uint64_t element_bytes(const TensorType& type) {
  return static_cast<uint64_t>(type.shape.count()) * static_cast<uint64_t>(bytes_of(type.dtype));
}

bool same_type(const TensorType& a, const TensorType& b) {
  if (a.dtype != b.dtype || a.shape.rank() != b.shape.rank()) return false;
  for (int i = 0; i < a.shape.rank(); ++i) {
    if (a.shape[i] != b.shape[i]) return false;
  }
  return true;
}

absl::Status check_bytes(std::string_view what, const TensorType& type, uint64_t bytes) {
  const uint64_t elements = element_bytes(type), padded = storage_bytes(type.dtype, type.shape.count());
  if (bytes == elements || bytes == padded) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": given ", bytes, " bytes, needed ", elements, " for ", text_of(type)));
}

absl::Status check_shape(const Shape& shape) {
  bool fine = shape.rank() <= kMaxRank && !shape.dynamic();
  int64_t count = 1;
  for (int axis = 0; fine && axis < shape.rank(); ++axis) {
    fine = shape[axis] >= 0 && (shape[axis] == 0 || count <= INT32_MAX / shape[axis]);
    count *= shape[axis];
  }
  if (fine) return absl::OkStatus();
  Text text;
  text << shape;
  return absl::InvalidArgumentError(absl::StrCat("a DeviceTensor of ", text.view(), ": it has up to ", kMaxRank,
                                                 " extents, fixed, none negative, and less than 2^31 elements"));
}

DeviceTensor tensor_of(std::shared_ptr<DeviceState> device, const TensorType& type, Slice slice) {
  return DeviceTensor(std::make_shared<const TensorState>(TensorState{std::move(device), type, std::move(slice)}));
}

absl::Status copy_ranges(DeviceState& device, const Slice& from, const Slice& to, std::span<const CopyRange> ranges) {
  if (absl::Status status = device.loss_status(); !status.ok()) return status;
  uint64_t all = 0;
  for (const CopyRange& range : ranges) all += range.bytes;
  if (all == 0) return absl::OkStatus();
  // WebGPU copies from one buffer to another: within one, there is a third between.
  Slice between;
  if (from.buffer.Get() == to.buffer.Get()) {
    absl::StatusOr<Slice> made = device.create_buffer(all, "copy within a buffer", MemoryKind::staging);
    if (!made.ok()) return made.status();
    between = *std::move(made);
  }
  ErrorCapture errors(device);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  if (between.buffer) {
    uint64_t at = 0;
    for (const CopyRange& range : ranges) {
      encoder.CopyBufferToBuffer(from.buffer, from.offset + range.from, between.buffer, at, range.bytes);
      at += range.bytes;
    }
    at = 0;
    for (const CopyRange& range : ranges) {
      encoder.CopyBufferToBuffer(between.buffer, at, to.buffer, to.offset + range.to, range.bytes);
      at += range.bytes;
    }
  } else {
    for (const CopyRange& range : ranges)
      encoder.CopyBufferToBuffer(from.buffer, from.offset + range.from, to.buffer, to.offset + range.to, range.bytes);
  }
  const wgpu::CommandBuffer commands = encoder.Finish();
  if (absl::Status status = errors.status("copy"); !status.ok()) return status;
  device.submit(commands);
  return errors.status("copy");
}

}  // namespace internal

namespace {

using internal::check_bytes;
using internal::check_shape;
using internal::TensorState;
using internal::text_of;
using internal::TransferState;

absl::Status no_tensor() { return absl::FailedPreconditionError("an empty DeviceTensor: use DeviceTensor::create()"); }
absl::Status no_transfer() { return absl::FailedPreconditionError("an empty Transfer: use DeviceTensor::read()"); }

Transfer failed(absl::Status status) {
  auto transfer = std::make_shared<TransferState>(nullptr);
  transfer->submitted = std::move(status);
  return Transfer(std::move(transfer));
}

absl::Status check_pair(const DeviceTensor& from, const DeviceTensor& to) {
  if (!from || !to) return no_tensor();
  if (from.state()->device != to.state()->device)
    return absl::InvalidArgumentError("copy: the tensors are of different devices");
  if (from.dtype() == to.dtype()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("copy: from ", text_of(from.state()->type), " to ", text_of(to.state()->type)));
}

}  // namespace

bool Transfer::ready() const { return !state_ || state_->ready(); }
Status Transfer::wait() const { return state_ ? state_->wait() : no_transfer(); }
Status Transfer::wait_for(double seconds) const {
  return state_ ? state_->wait(internal::nanoseconds_of(seconds)) : no_transfer();
}

Status Transfer::get(std::span<std::byte> out) const {
  if (!state_) return no_transfer();
  if (absl::Status status = state_->wait(); !status.ok()) return status;
  if (!state_->reads) return absl::FailedPreconditionError("this transfer wrote: there is nothing to get");
  if (absl::Status status = check_bytes("tensor", state_->type, out.size()); !status.ok()) return status;
  return state_->copy_out(0, out);
}

Status Transfer::check(DType dtype) const {
  if (!state_) return no_transfer();
  if (!state_->submitted.ok()) return state_->submitted;
  if (!state_->reads) return absl::FailedPreconditionError("this transfer wrote: there is nothing to get");
  if (internal::storable(dtype, state_->type.dtype)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the tensor holds ", name_of(state_->type.dtype), ", not ", name_of(dtype)));
}
int64_t Transfer::count() const { return state_->type.shape.count(); }

Result<DeviceTensor> DeviceTensor::create(const Device& device, DType dtype, const Shape& shape,
                                          std::string_view label) {
  if (!device) return absl::FailedPreconditionError("no device: use open_device()");
  if (absl::Status status = check_shape(shape); !status.ok()) return status;
  absl::StatusOr<internal::Slice> slice =
      device.state()->create_buffer(storage_bytes(dtype, shape.count()), label, internal::MemoryKind::tensors);
  if (!slice.ok()) return slice.status();
  return internal::tensor_of(device.state(), TensorType{dtype, shape}, *std::move(slice));
}

Result<DeviceTensor> DeviceTensor::of_bytes(const Device& device, DType dtype, const Shape& shape,
                                            std::span<const std::byte> elements, std::string_view label) {
  if (absl::Status status = check_shape(shape); !status.ok()) return status;
  if (absl::Status status = check_bytes(label, TensorType{dtype, shape}, elements.size()); !status.ok()) return status;
  Result<DeviceTensor> made = create(device, dtype, shape, label);
  if (!made.ok()) return made;
  const internal::Slice& slice = made->state()->slice;
  if (absl::Status status = device.state()->write(slice.buffer, slice.offset, elements); !status.ok()) return status;
  return made;
}

DType DeviceTensor::dtype() const { return state_ ? state_->type.dtype : f32; }
const Shape& DeviceTensor::shape() const {
  static const Shape* const none = new Shape{0};
  return state_ ? state_->type.shape : *none;
}
uint64_t DeviceTensor::bytes() const { return state_ ? internal::element_bytes(state_->type) : 0; }
Device DeviceTensor::device() const { return state_ ? Device(state_->device) : Device(); }

Result<DeviceTensor> DeviceTensor::reshaped(const Shape& shape) const {
  if (!state_) return no_tensor();
  if (absl::Status status = check_shape(shape); !status.ok()) return status;
  const TensorType type{state_->type.dtype, shape};
  if (shape.count() != count())
    return absl::InvalidArgumentError(absl::StrCat(text_of(state_->type), " has no elements for ", text_of(type)));
  return internal::tensor_of(state_->device, type, state_->slice);
}

Result<DeviceTensor> DeviceTensor::rows(int64_t first, int64_t count) const {
  if (!state_) return no_tensor();
  const Shape& all = shape();
  if (all.rank() == 0 || first < 0 || count < 0 || first > all[0] - count) {
    return absl::InvalidArgumentError(
        absl::StrCat("rows ", first, " to ", first + count, " of ", text_of(state_->type)));
  }
  const uint64_t row = static_cast<uint64_t>(all.count(1, all.rank())) * static_cast<uint64_t>(bytes_of(dtype()));
  const uint64_t begin = row * static_cast<uint64_t>(first), end = begin + row * static_cast<uint64_t>(count);
  if (begin % 4 != 0 || (end % 4 != 0 && first + count < all[0])) {
    return absl::InvalidArgumentError(absl::StrCat("rows ", first, " to ", first + count, " of ", text_of(state_->type),
                                                   ": a row takes ", row,
                                                   " bytes, and a part begins and ends at a multiple of 4"));
  }
  TensorType type = state_->type;
  type.shape.set(0, Dim(count));
  const uint64_t bytes = first + count < all[0] ? end - begin : state_->slice.bytes - begin;
  return internal::tensor_of(state_->device, type,
                             {state_->slice.buffer, state_->slice.offset + begin, bytes, state_->slice.lease});
}

Status DeviceTensor::copy_from(const DeviceTensor& from) const {
  if (absl::Status status = check_pair(from, *this); !status.ok()) return status;
  if (from.count() != count()) {
    return absl::InvalidArgumentError(
        absl::StrCat("copy: from ", text_of(from.state()->type), " to ", text_of(state_->type)));
  }
  const internal::CopyRange all[] = {{0, 0, storage_bytes(dtype(), count())}};
  return internal::copy_ranges(*state_->device, from.state()->slice, state_->slice, all);
}

Result<DeviceTensor> DeviceTensor::clone() const {
  if (!state_) return no_tensor();
  Result<DeviceTensor> made = create(device(), dtype(), shape());
  if (!made.ok()) return made;
  if (Status status = made->copy_from(*this); !status.ok()) return status;
  return made;
}

Status DeviceTensor::clear() const {
  if (!state_) return no_tensor();
  internal::DeviceState& device = *state_->device;
  if (absl::Status status = device.loss_status(); !status.ok()) return status;
  internal::ErrorCapture errors(device);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  encoder.ClearBuffer(state_->slice.buffer, state_->slice.offset, storage_bytes(dtype(), count()));
  const wgpu::CommandBuffer commands = encoder.Finish();
  device.submit(commands);
  return errors.status("clear");
}

Transfer DeviceTensor::write(std::span<const std::byte> elements) const {
  if (!state_) return failed(no_tensor());
  if (absl::Status status = check_bytes("tensor", state_->type, elements.size()); !status.ok()) return failed(status);
  internal::DeviceState& device = *state_->device;
  if (absl::Status status = device.write(state_->slice.buffer, state_->slice.offset, elements); !status.ok())
    return failed(status);
  auto transfer = std::make_shared<TransferState>(state_->device);
  device.queue.Submit(0, nullptr);  // what Dawn has gathered, so that the writing is part of what is waited for
  transfer->watch(0);
  return Transfer(std::move(transfer));
}

Transfer DeviceTensor::write_elements(DType dtype, std::span<const std::byte> elements) const {
  if (state_ && !internal::storable(dtype, this->dtype())) {
    return failed(absl::InvalidArgumentError(
        absl::StrCat("the tensor holds ", name_of(this->dtype()), ", not ", name_of(dtype))));
  }
  return write(elements);
}

Transfer DeviceTensor::read() const {
  if (!state_) return failed(no_tensor());
  internal::DeviceState& device = *state_->device;
  if (absl::Status status = device.loss_status(); !status.ok()) return failed(status);
  auto transfer = std::make_shared<TransferState>(state_->device);
  transfer->type = state_->type;
  transfer->reads = true;
  const uint64_t bytes = storage_bytes(dtype(), count());
  if (bytes == 0) return Transfer(std::move(transfer));
  absl::StatusOr<internal::Staging> staging = device.take_staging(bytes);
  if (!staging.ok()) return failed(staging.status());
  transfer->staging = *std::move(staging);
  internal::ErrorCapture errors(device);
  const wgpu::CommandEncoder encoder = device.device.CreateCommandEncoder();
  encoder.CopyBufferToBuffer(state_->slice.buffer, state_->slice.offset, transfer->staging.buffer, 0, bytes);
  const wgpu::CommandBuffer commands = encoder.Finish();
  device.submit(commands);
  if (absl::Status status = errors.status("read"); !status.ok()) return failed(status);
  transfer->watch(bytes);
  return Transfer(std::move(transfer));
}

Status copy_range(const DeviceTensor& from, int64_t first, const DeviceTensor& to, int64_t at, int64_t count,
                  int axis) {
  if (absl::Status status = check_pair(from, to); !status.ok()) return status;
  const Shape &a = from.shape(), &b = to.shape();
  const auto wrong = [&](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("copy_range of ", count, " along axis ", axis, " from ",
                                                   text_of(from.state()->type), " at ", first, " to ",
                                                   text_of(to.state()->type), " at ", at, ": ", why));
  };
  if (a.rank() != b.rank() || axis < 0 || axis >= a.rank()) return wrong("both have this axis, and as many others");
  for (int i = 0; i < a.rank(); ++i) {
    if (i != axis && a[i] != b[i]) return wrong(absl::StrCat("they differ along axis ", i));
  }
  if (count < 0 || first < 0 || at < 0 || first > a[axis] - count || at > b[axis] - count)
    return wrong("this is outside one of them");
  const auto inner = static_cast<uint64_t>(a.count(axis + 1, a.rank()) * bytes_of(from.dtype()));
  const int64_t outer = a.count(0, axis);
  std::vector<internal::CopyRange> ranges;
  for (int64_t o = 0; o < outer; ++o) {
    internal::CopyRange range{static_cast<uint64_t>(o * a[axis] + first) * inner,
                              static_cast<uint64_t>(o * b[axis] + at) * inner, static_cast<uint64_t>(count) * inner};
    // The end of both tensors may be followed by the rest of a word.
    if (o + 1 == outer && first + count == a[axis] && at + count == b[axis]) range.bytes = (range.bytes + 3) / 4 * 4;
    if (range.from % 4 != 0 || range.to % 4 != 0 || range.bytes % 4 != 0)
      return wrong("what is copied begins and ends at multiples of 4 bytes");
    ranges.push_back(range);
  }
  return internal::copy_ranges(*from.state()->device, from.state()->slice, to.state()->slice, ranges);
}

}  // namespace rlxgpu::core
