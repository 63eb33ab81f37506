// TensorStore: tensors on the device, known by name. What Weights and States are made of. Internal to runtime/.
//
// Packed: small tensors share buffers, which is right for what is only read. Apart: each has a buffer of
// its own, since Dawn allows no buffer to be both read and written by one dispatch. Thread-safe.
#ifndef RLXGPU_RUNTIME_TENSOR_STORE_H_
#define RLXGPU_RUNTIME_TENSOR_STORE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "rlxgpu/graph/graph.h"
#include "rlxgpu/runtime/device_state.h"
#include "rlxgpu/runtime/tensor_state.h"
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::core::internal {

class TensorStore {
 public:
  enum class Kind { packed, apart };
  // Packed tensors are weights, the others states.
  TensorStore(std::shared_ptr<DeviceState> device, Kind kind)
      : device_(std::move(device)), kind_(kind), what_(kind == Kind::packed ? "param" : "state") {}

  const std::shared_ptr<DeviceState>& device() const { return device_; }

  // Where the tensor is; makes room for it when it is new. `expected_bytes`: of all that will be reserved soon.
  absl::StatusOr<Slice> reserve(std::string_view name, const TensorType& type, uint64_t expected_bytes);
  absl::Status set(std::string_view name, const TensorType& type, std::span<const std::byte> data);
  absl::Status get(std::string_view name, std::span<std::byte> out);
  // A tensor's memory, as it is; the second makes room for one that is new, and counts it as set.
  absl::StatusOr<DeviceTensor> tensor(std::string_view name);
  absl::StatusOr<DeviceTensor> add(std::string_view name, const TensorType& type);
  // Bytes of device memory that reserve() would add, for a tensor that is not there yet.
  uint64_t missing(std::string_view name, const TensorType& type);
  uint64_t room();       // in buffers that are there
  absl::Status clear();  // all zero again
  void reserve(uint64_t bytes);

  bool is_set(std::string_view name);
  size_t count();
  size_t buffer_count();
  uint64_t bytes();  // of device memory

 private:
  struct Entry {
    TensorType type;
    Slice slice;
    bool set = false;
  };
  absl::StatusOr<Entry*> find_or_add(std::string_view name, const TensorType& type, bool given,
                                     uint64_t expected_bytes);
  absl::StatusOr<Slice> allocate(std::string_view name, uint64_t bytes, uint64_t expected_bytes);

  const std::shared_ptr<DeviceState> device_;  // first: outlives the buffers
  const Kind kind_;
  const std::string what_;  // "param" or "state", for messages
  std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> entries_;
  struct Chunk {
    Slice slice;
    uint64_t used = 0;
  };
  std::vector<Chunk> chunks_;
  uint64_t bytes_ = 0, expected_ = 0;
};

}  // namespace rlxgpu::core::internal

#endif  // RLXGPU_RUNTIME_TENSOR_STORE_H_
