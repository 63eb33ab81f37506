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
#include "webgpu/webgpu_cpp.h"

namespace rlxgpu::internal {

// A piece of a device buffer.
struct Slice {
  wgpu::Buffer buffer;
  uint64_t offset = 0, bytes = 0;
};

std::string text_of(const TensorType& type);  // "f32[3,4]"

// Ok when `bytes` are all the elements of a tensor of this type, with or without padding to whole words.
absl::Status check_bytes(std::string_view what, const TensorType& type, uint64_t bytes);

class TensorStore {
 public:
  enum class Kind { packed, apart };
  TensorStore(std::shared_ptr<DeviceState> device, Kind kind, std::string_view what)
      : device_(std::move(device)), kind_(kind), what_(what) {}

  const std::shared_ptr<DeviceState>& device() const { return device_; }

  // Where the tensor is; makes room for it when it is new. `expected_bytes`: of all that will be reserved soon.
  absl::StatusOr<Slice> reserve(std::string_view name, const TensorType& type, uint64_t expected_bytes);
  absl::Status set(std::string_view name, const TensorType& type, std::span<const std::byte> data);
  absl::Status get(std::string_view name, std::span<std::byte> out);
  absl::Status clear();  // all zero again
  void expect(uint64_t bytes);

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
    wgpu::Buffer buffer;
    uint64_t bytes = 0, used = 0;
  };
  std::vector<Chunk> chunks_;
  uint64_t bytes_ = 0, expected_ = 0;
};

}  // namespace rlxgpu::internal

#endif  // RLXGPU_RUNTIME_TENSOR_STORE_H_
