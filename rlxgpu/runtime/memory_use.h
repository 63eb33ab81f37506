// MemoryUse: how many bytes of a device's memory are in use, and for what: see Device::memory().
#ifndef RLXGPU_RUNTIME_MEMORY_USE_H_
#define RLXGPU_RUNTIME_MEMORY_USE_H_

#include <cstdint>

namespace rlxgpu::core {

// Of buffers that rlxgpu made. Not: buffers of the caller's (interop.h), pipelines, and what Dawn and the driver need
// for themselves, such as the memory through which Dawn writes into buffers.
struct MemoryUse {
  uint64_t weights = 0;
  uint64_t states = 0;
  uint64_t scratch = 0;  // of engines: inputs, outputs, constants and values between steps
  uint64_t tensors = 0;  // DeviceTensor::create and its like
  uint64_t staging = 0;  // through which the host reads, kept ones included
  uint64_t limit = 0;    // DeviceOptions::memory_limit; 0: none

  uint64_t total() const { return weights + states + scratch + tensors + staging; }
};

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::MemoryUse;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_MEMORY_USE_H_
