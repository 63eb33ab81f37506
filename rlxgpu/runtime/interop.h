// For programs that use Dawn themselves: the one public header of rlxgpu that includes it.
//
//   Result<Device> device = Device::adopt(my_device, my_queue);
//   Result<DeviceTensor> x = wrap(*device, my_buffer, f32, {rows, 64});    // no copy; the buffer stays yours
//   executable.bind<"x">(*x);
//   executable.encode(my_encoder);                                        // between your own passes
//   BufferRange y = buffer_of(*executable.tensor<"y">());                   // for your own kernels
//
// Device::adopt makes a Device of a wgpu::Device that exists. What programs may use is asked from it: only features and
// limits that it was created with count. It is never destroyed by rlxgpu, and lives at least as long as the last thing
// of rlxgpu on it.
//
// Its callbacks stay yours. The errors of rlxgpu's own calls are caught by error scopes and come back as statuses, so
// your error callback does not see them; your device-lost callback is called as ever, and rlxgpu learns of a loss by
// asking for the device's lost future. Of `options` only memory_limit, tuning, cache_dir, log and inspect count; log
// gets warnings of rlxgpu's, not Dawn's.
//
// With the feature ImplicitDeviceSynchronization a Device is thread-safe as usual. Without it, all calls on the device,
// yours and rlxgpu's, are made by one thread at a time, and RunOptions::on_done is refused. Without the instance
// feature TimedWaitAny waiting is done by asking again and again, 20 us apart.
#ifndef RLXGPU_RUNTIME_INTEROP_H_
#define RLXGPU_RUNTIME_INTEROP_H_

#include <webgpu/webgpu_cpp.h>

#include <cstdint>

#include "rlxgpu/graph/dtype.h"
#include "rlxgpu/graph/shape.h"
#include "rlxgpu/runtime/device.h"
#include "rlxgpu/runtime/device_tensor.h"
#include "rlxgpu/runtime/status.h"

namespace rlxgpu::core {

// A tensor in a buffer of the caller's, from a byte offset on, which is a multiple of 4 (to be bound: of
// Target::offset_alignment). rlxgpu keeps a reference to the buffer while a tensor or an executable uses it, never
// destroys it, and does not count it in Device::memory(). The buffer has the usage Storage to be bound, CopySrc to be
// read or copied from, CopyDst to be written, and room for the elements, rounded up to 16 bytes to be bound.
Result<DeviceTensor> wrap(const Device& device, const wgpu::Buffer& buffer, DType dtype, const Shape& shape,
                          uint64_t offset = 0);

struct BufferRange {
  wgpu::Buffer buffer;  // valid while the tensor lives
  uint64_t offset = 0, bytes = 0;
};
// Where a tensor lies; an empty range for an empty DeviceTensor.
BufferRange buffer_of(const DeviceTensor& tensor);

// What a Device is made of; null for an empty one. Do not destroy it: see Device::destroy().
wgpu::Device native_device(const Device& device);
wgpu::Queue native_queue(const Device& device);
wgpu::Instance native_instance(const Device& device);

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::BufferRange, core::buffer_of, core::native_device, core::native_instance, core::native_queue, core::wrap;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_INTEROP_H_
