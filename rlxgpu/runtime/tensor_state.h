// TensorState: what a DeviceTensor is a handle of, and words about types. Internal to runtime/: includes Dawn.
#ifndef RLXGPU_RUNTIME_TENSOR_STATE_H_
#define RLXGPU_RUNTIME_TENSOR_STATE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/submission.h"

namespace rlxgpu::core::internal {

struct TensorState {
  std::shared_ptr<DeviceState> device;  // first: outlives the buffer
  TensorType type;
  Slice slice;  // bytes: what the elements take and the room behind them
};

struct TransferState : Submission {
  using Submission::Submission;
  TensorType type;
  bool reads = false;
};

std::string text_of(const TensorType& type);  // "f32[3,4]"
uint64_t element_bytes(const TensorType& type);
bool same_type(const TensorType& a, const TensorType& b);  // element type and extents

// Ok when `bytes` are all the elements of a tensor of this type, with or without padding to whole words.
absl::Status check_bytes(std::string_view what, const TensorType& type, uint64_t bytes);

absl::Status check_shape(const Shape& shape);  // of a DeviceTensor

// A handle to memory that exists.
DeviceTensor tensor_of(std::shared_ptr<DeviceState> device, const TensorType& type, Slice slice);

// One copy of a range of bytes; all are multiples of 4.
struct CopyRange {
  uint64_t from = 0, to = 0, bytes = 0;
};
// Copies ranges between two slices in one submit, also within one buffer.
absl::Status copy_ranges(DeviceState& device, const Slice& from, const Slice& to, std::span<const CopyRange> ranges);

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_TENSOR_STATE_H_
