// Device: an open adapter. All that runs on it holds a share of it, so objects may go in any order.
//
//   Result<Device> device = open_device();                       // the fastest, or $RLXGPU_ADAPTER
//   Result<Device> small = open_device({.adapter = "intel", .portable = true});
//
// A Device is a handle: copies are cheap and mean the same device, which closes when the last handle,
// Engine, Weights, States and Run of it is gone. Thread-safe. After a loss (driver reset, destroy())
// every call on it and on its engines returns the status that says why, and nothing crashes.
#ifndef RLXGPU_RUNTIME_DEVICE_H_
#define RLXGPU_RUNTIME_DEVICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rlxgpu/graph/target.h"
#include "rlxgpu/runtime/adapter.h"
#include "rlxgpu/runtime/memory_use.h"
#include "rlxgpu/runtime/status.h"

namespace wgpu {
class Device;
class Queue;
}  // namespace wgpu

namespace rlxgpu::core {

struct ProgramView;  // compile/program.h
namespace internal {
struct DeviceState;
}

enum class Power : uint8_t { high, low };  // discrete before integrated, or the other way; software last

struct DeviceOptions {
  std::string adapter = {};        // part of AdapterInfo::label(), in any case. Empty: $RLXGPU_ADAPTER, else the first
  Backend backend = Backend::any;  // null: checks kernels and layouts, executes nothing
  Power power = Power::high;
  bool portable = false;       // only the limits and features that every WebGPU has (and timestamps)
  bool experimental = true;    // matrix units, which Dawn still calls unsafe
  bool disk_cache = true;      // of compiled kernels: see blob_cache.h
  std::string cache_dir = {};  // empty: $RLXGPU_CACHE_DIR, else the user's cache folder
  // Bytes of device memory, for all that rlxgpu makes on this device: beyond, calls that would need more are refused
  // with ResourceExhausted before anything is allocated. 0: whatever the driver gives.
  uint64_t memory_limit = 0;
  bool tuning = true;  // programs planned at run time use what the tuner found: see tuner.h
  std::vector<std::string> enable_toggles = {}, disable_toggles = {};  // Dawn's, for the device
  // Dawn's remarks (and what "dump_shaders" prints), and warnings of ours, from any thread. Null: to the log sink (log.h).
  std::function<void(std::string_view)> log = {};
  // Sees every program, with the WGSL of its kernels, before an engine is made of it; an error stops that.
  std::function<Status(const ProgramView&, std::span<const std::string_view>)> inspect = {};
};

class Device {
 public:
  Device() = default;  // no device: every use of it is a FailedPrecondition
  // On a device of the caller's: see interop.h.
  static Result<Device> adopt(const wgpu::Device& device, const wgpu::Queue& queue, const DeviceOptions& options = {});

  const AdapterInfo& adapter() const;
  const Target& target() const;  // what programs for this device may use
  std::string label() const;     // "adapter / backend / driver"

  // Ok, or why the device is lost, or the first error that no call could be blamed for.
  Status status() const;
  // Waits until all that was submitted is done.
  Status wait_idle() const;
  // What is in use, to the byte: see memory_use.h.
  MemoryUse memory() const;
  // Ends the device now, whoever still uses it. They get statuses.
  void destroy() const;

  explicit operator bool() const { return state_ != nullptr; }
  bool operator==(const Device&) const = default;

  explicit Device(std::shared_ptr<internal::DeviceState> state) : state_(std::move(state)) {}
  const std::shared_ptr<internal::DeviceState>& state() const { return state_; }  // for runtime/

 private:
  std::shared_ptr<internal::DeviceState> state_;
};

// A name that fits no adapter is NotFound, and the message lists what there is.
Result<Device> open_device(const DeviceOptions& options = {});

}  // namespace rlxgpu::core

namespace rlxgpu {
using core::Device, core::DeviceOptions, core::Power, core::open_device;
}  // namespace rlxgpu

#endif  // RLXGPU_RUNTIME_DEVICE_H_
